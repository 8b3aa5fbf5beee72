#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "imbrex/checkpoint/erasure_code/reed_solomon.h"

namespace imbrex {

/// The code of one stripe of a `parity_layout`: xor where there is one block of parity, else Reed-Solomon. Blocks that
/// are shorter than what is computed count as if zeros followed. One thread at a time.
class stripe_code {
 public:
  /// Throws `not_built` for more than one block of parity where this build has no Reed-Solomon code.
  stripe_code(int num_data, int num_parity);

  /// Whether the parity of a stripe is its one block of data.
  bool copies() const { return num_data_ == 1 && num_parity_ == 1; }
  /// Sets `to` to block `parity` of the parity of these data.
  void encode(std::span<const std::span<const std::byte>> data, int parity, std::span<std::byte> to);
  /// Sets `to` to block `wanted` (data first, then parity) from others: `blocks` has all, nothing at the places of
  /// those that are lost. Throws `checkpoint_error` when more are lost than there are blocks of parity.
  void restore(std::span<const std::optional<std::span<const std::byte>>> blocks, int wanted, std::span<std::byte> to);

 private:
  std::span<std::byte> room(std::size_t i, std::size_t bytes);

  int num_data_;
  int num_parity_;
  std::optional<reed_solomon> code_;
  std::vector<std::vector<std::byte>> rooms_;  // of as many bytes as is computed at once
};

}  // namespace imbrex
