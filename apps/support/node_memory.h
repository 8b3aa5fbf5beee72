#pragma once

#include <cstdint>

namespace apps {

/// Bytes that new allocations on this node can get: what the kernel calls available, or the room under the limit of
/// this process's control group if that is less. The largest number if the system does not say.
std::uint64_t available_memory();

/// Bytes that this process may still map, by its own limit (ulimit -v). The largest number if there is none.
std::uint64_t room_of_process();

}  // namespace apps
