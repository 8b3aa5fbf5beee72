#include "imbrex/checkpoint/memory/stripe_code.h"

#include <algorithm>
#include <cstring>

#include "imbrex/base/error.h"
#include "imbrex/checkpoint/erasure_code/xor_parity.h"

namespace imbrex {

namespace {
void fill(std::span<std::byte> to, std::span<const std::byte> from) {
  const std::size_t n = std::min(to.size(), from.size());
  if (n > 0 && to.data() != from.data()) std::memcpy(to.data(), from.data(), n);
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(n), to.end(), std::byte{0});
}
}  // namespace

stripe_code::stripe_code(int num_data, int num_parity) : num_data_(num_data), num_parity_(num_parity) {
  if (num_parity > 1) code_.emplace(num_data, num_parity);
  rooms_.resize(static_cast<std::size_t>(num_data + num_parity));
}

std::span<std::byte> stripe_code::room(std::size_t i, std::size_t bytes) {
  if (rooms_[i].size() < bytes) rooms_[i].resize(bytes);
  return std::span(rooms_[i]).first(bytes);
}

void stripe_code::encode(std::span<const std::span<const std::byte>> data, int parity, std::span<std::byte> to) {
  if (!code_) return data.size() == 1 ? fill(to, data[0]) : xor_parity(data, to);
  std::vector<std::span<const std::byte>> equal;
  equal.reserve(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::span<std::byte> r = room(i, to.size());
    fill(r, data[i]);
    equal.push_back(r);
  }
  std::vector<std::span<std::byte>> results;
  results.reserve(static_cast<std::size_t>(num_parity_));
  for (int j = 0; j < num_parity_; ++j)
    results.push_back(j == parity ? to : room(static_cast<std::size_t>(num_data_ + j), to.size()));
  code_->encode(equal, results);
}

void stripe_code::restore(std::span<const std::optional<std::span<const std::byte>>> blocks, int wanted,
                          std::span<std::byte> to) {
  std::vector<int> lost;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i]) lost.push_back(static_cast<int>(i));
  }
  if (static_cast<int>(lost.size()) > num_parity_)
    throw checkpoint_error("more parts of a checkpoint in memory are lost than its parity restores");
  if (!code_) {
    std::vector<std::span<const std::byte>> others;
    for (const auto& b : blocks) {
      if (b) others.push_back(*b);
    }
    return xor_parity(others, to);  // the xor of all of them is nothing
  }
  std::vector<std::span<std::byte>> all;
  all.reserve(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::span<std::byte> r = static_cast<int>(i) == wanted ? to : room(i, to.size());
    if (blocks[i]) fill(r, *blocks[i]);
    all.push_back(r);
  }
  code_->restore(all, lost);
}

}  // namespace imbrex
