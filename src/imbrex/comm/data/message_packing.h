#pragma once

#include <functional>

#include "imbrex/comm/data/channel_end.h"

namespace imbrex {

/// Brings the data of `m`, which only the PE of `by` can fetch (`m.remote`) or only its process can read (memory of a
/// device, lent), into the message, so that it can go on to another process; then `go_on` has it: later, from this PE's
/// loop, and never if the job ends before. `here`: a device of this PE, which reads the memory of others.
void pack(channel_message&& m, data_mover& by, device& here, std::function<void(channel_message&&)> go_on);

/// The host memory that is lent with `m` is copied to the message, and goes back.
void copy_lent(channel_message& m);

}  // namespace imbrex
