#pragma once

#include <cstdint>

#include "system/model.h"

namespace md {

/// Bytes that all boxes take together on the host, at the least: atoms, bins, lists of neighbours. Without ghosts, and
/// as though the atoms were spread evenly, of which there are fewest pairs.
double least_bytes(const model& m);

/// Throws out_of_memory, saying how much is needed and how much there is, where this node or this process cannot have
/// its share: of `num_processes`, `here` on this node. Throws usage_error where a box has too many bins for numbers of
/// 32 bits.
void check_memory(const model& m, int num_processes, int here);

}  // namespace md
