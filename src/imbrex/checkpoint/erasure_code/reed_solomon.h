#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace imbrex {

/// Reed-Solomon parity over GF(256): `num_parity` blocks made of `num_data` blocks of equal length, from which any
/// `num_parity` lost ones, of data or of parity, can be restored. By ISA-L; without it the constructor throws
/// `not_built` (see `xor_parity`, which restores one). Encoding and restoring: any thread.
class reed_solomon {
 public:
  /// `usage_error` unless both are 1 at least and 256 at most together.
  reed_solomon(int num_data, int num_parity);

  /// Whether this build can do it.
  static bool is_built();

  int num_data() const { return num_data_; }
  int num_parity() const { return num_parity_; }

  /// Sets the parity blocks. `usage_error` where numbers or lengths do not fit.
  void encode(std::span<const std::span<const std::byte>> data, std::span<const std::span<std::byte>> parity) const;

  /// Sets those of `blocks` (the data, then the parity; all have memory) whose numbers are in `lost` from the others.
  /// `checkpoint_error` when more than `num_parity` are lost.
  void restore(std::span<const std::span<std::byte>> blocks, std::span<const int> lost) const;

 private:
  /// One of the rows that give all blocks from the data: the first `num_data` are the data themselves.
  std::span<const std::uint8_t> row(int block) const;
  /// In order, each once.
  std::vector<int> checked_lost(std::span<const int> lost) const;
  /// Rows that give the missing blocks from as many others as there are data, whose rows are `there`.
  std::vector<std::uint8_t> rows_from(std::vector<std::uint8_t> there, std::span<const int> missing) const;

  int num_data_;
  int num_parity_;
  std::vector<std::uint8_t> matrix_;  // num_data + num_parity rows of num_data coefficients
};

}  // namespace imbrex
