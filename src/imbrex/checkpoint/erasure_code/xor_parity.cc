#include "imbrex/checkpoint/erasure_code/xor_parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

// The parity's part stays in the first-level cache while all blocks pass by.
constexpr std::size_t bytes_at_once = 16 * 1024;

void xor_bytes(std::byte* __restrict to, const std::byte* __restrict from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] ^= from[i];
}

// The bytes of a block in [begin, begin + n) that it has.
std::span<const std::byte> part_of(std::span<const std::byte> block, std::size_t begin, std::size_t n) {
  if (begin >= block.size()) return {};
  return block.subspan(begin, std::min(n, block.size() - begin));
}

void check_parity_length(std::size_t block_bytes, std::size_t parity_bytes) {
  if (block_bytes <= parity_bytes) return;
  throw usage_error(fmt::format("a block of {} bytes has a parity of {}: that has as many as the longest block",
                                block_bytes, parity_bytes));
}

}  // namespace

void xor_into(std::span<std::byte> parity, std::span<const std::byte> block) {
  check_parity_length(block.size(), parity.size());
  xor_bytes(parity.data(), block.data(), block.size());
}

void xor_parity(std::span<const std::span<const std::byte>> blocks, std::span<std::byte> parity) {
  for (const auto block : blocks) check_parity_length(block.size(), parity.size());
  for (std::size_t begin = 0; begin < parity.size(); begin += bytes_at_once) {
    const auto part = parity.subspan(begin, std::min(bytes_at_once, parity.size() - begin));
    std::fill(part.begin(), part.end(), std::byte{0});
    for (const auto block : blocks) {
      const auto source = part_of(block, begin, part.size());
      xor_bytes(part.data(), source.data(), source.size());
    }
  }
}

void restore_by_xor(std::span<const std::span<const std::byte>> others, std::span<const std::byte> parity,
                    std::span<std::byte> lost) {
  check_parity_length(lost.size(), parity.size());
  for (std::size_t begin = 0; begin < lost.size(); begin += bytes_at_once) {
    const auto part = lost.subspan(begin, std::min(bytes_at_once, lost.size() - begin));
    std::memcpy(part.data(), parity.data() + begin, part.size());
    for (const auto block : others) {
      const auto source = part_of(block, begin, part.size());
      xor_bytes(part.data(), source.data(), source.size());
    }
  }
}

}  // namespace imbrex
