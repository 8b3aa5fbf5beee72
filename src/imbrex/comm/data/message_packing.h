#pragma once

#include <functional>

#include "imbrex/comm/data/channel_end.h"

namespace imbrex {

/// Brings the data of `m` (`m.remote`), which only the PE of `by` can fetch, into the message, so that it can go on to
/// another PE or process; then `go_on` has it: at once, or later from this PE's loop; never if the job ends before.
/// `here` reads what lies in the memory of another process's device; that blocks, for it is rare.
void pack_remote(channel_message&& m, data_mover& by, device& here, std::function<void(channel_message&&)> go_on);

}  // namespace imbrex
