#pragma once

#include <cstddef>
#include <vector>

#include "imbrex/device/rounds/recorded_rounds.h"

namespace imbrex {

/// What the last two of recorded rounds do: equal for those that enqueue the same, with the same arguments, into the
/// same streams, which wait for each other in the same way. Graphs made from the one then do what the other's would.
std::vector<std::byte> signature_of(const recorded_rounds& r);

}  // namespace imbrex
