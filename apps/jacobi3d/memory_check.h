#pragma once

#include <cstdint>

#include "decomposition.h"
#include "support/node_memory.h"

namespace jacobi {

/// Throws out_of_memory, saying how much is needed and how much there is, if `needed` bytes exceed `available`.
void check_memory(std::uint64_t needed, std::uint64_t available = apps::available_memory());

/// Bytes that all blocks of a decomposition take together, if all were as large as the largest.
std::uint64_t bytes_of_all_blocks(const decomposition& blocks);

}  // namespace jacobi
