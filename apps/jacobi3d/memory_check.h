#pragma once

#include <cstdint>

#include "decomposition.h"

namespace jacobi {

/// Bytes that new allocations on this node can get: what the kernel calls available, or the room under this process's
/// memory limit if that is less. The largest number if the system does not say.
std::uint64_t available_memory();

/// Throws out_of_memory, saying how much is needed and how much there is, if `needed` bytes exceed `available`.
void check_memory(std::uint64_t needed, std::uint64_t available = available_memory());

/// Bytes that all blocks of a decomposition take together, if all were as large as the largest.
std::uint64_t bytes_of_all_blocks(const decomposition& blocks);

}  // namespace jacobi
