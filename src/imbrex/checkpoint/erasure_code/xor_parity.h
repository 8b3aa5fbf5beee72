#pragma once

#include <cstddef>
#include <span>

/// The parity of k blocks, from which any one of them that is lost can be restored. Blocks may have different lengths:
/// a shorter one counts as if zeros followed. Plain code that compilers turn into vector instructions. Any thread.
namespace imbrex {

/// `parity ^= block`. Throws `usage_error` when the block is longer than the parity.
void xor_into(std::span<std::byte> parity, std::span<const std::byte> block);

/// Sets `parity`, as long as the longest block at least, to the xor of all blocks.
void xor_parity(std::span<const std::span<const std::byte>> blocks, std::span<std::byte> parity);

/// Sets `lost` to the block that is missing among `others`; its length is known to the caller and not more than the
/// parity's.
void restore_by_xor(std::span<const std::span<const std::byte>> others, std::span<const std::byte> parity,
                    std::span<std::byte> lost);

}  // namespace imbrex
