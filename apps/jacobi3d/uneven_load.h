#pragma once

#include <cstdint>

#include "options.h"

namespace jacobi {

/// How often block `block` of `num_blocks` computes iteration `iteration`, each time with the same result. A quarter of
/// the blocks, which lie together, is dear (`--imbalance`); it begins with the first and goes on along all
/// (`--wander`).
inline int passes_of(const options& o, std::int64_t block, std::int64_t num_blocks, std::int64_t iteration) {
  const std::int64_t begin = o.wander > 0 ? iteration / o.wander % num_blocks : 0;
  const std::int64_t behind = (block - begin + num_blocks) % num_blocks;
  return 4 * behind < num_blocks ? o.imbalance : 1;
}

/// Whether loads are looked at after so many iterations (`--balance-every`).
inline bool balances_after(const options& o, std::int64_t begun) {
  return o.balance_every > 0 && begun % o.balance_every == 0;
}

}  // namespace jacobi
