#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "decomposition.h"
#include "options.h"
#include "result.h"

namespace jacobi {

/// The oracle: the whole grid on one thread, with one layer of ghost cells all around, as plain triple loops. It shares
/// no code with the kernel, the blocks or the halos; what it shares is the initial state and the stopping rule.
class serial_reference {
 public:
  /// Sets the initial state. Throws what reading the input throws.
  explicit serial_reference(const options& o);

  /// Bytes that a grid takes.
  static std::uint64_t bytes_needed(extents grid);

  /// Does the warm-up and the iterations of one repeat, as the options say. Returns the iterations done after warm-up,
  /// fewer than asked for when the tolerance is met.
  std::int64_t run();

  /// The last L2 norm of the change that the stopping rule consumed; nothing without a tolerance.
  std::optional<double> change_norm() const { return change_norm_; }

  extents grid() const { return grid_; }
  double at(std::int64_t x, std::int64_t y, std::int64_t z) const { return field_[index(x, y, z)]; }
  std::uint64_t field_hash() const;

  /// The cells of a box, row-major without padding: what a rank elsewhere needs to compare its block.
  std::vector<double> copy_box(const box& cells) const;

 private:
  std::size_t index(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return static_cast<std::size_t>(((z + 1) * (grid_.ny + 2) + y + 1) * (grid_.nx + 2) + x + 1);
  }
  void set_ghosts();
  void step();
  double norm_of_last_change() const;

  options options_;
  extents grid_;
  std::vector<double> field_, next_;
  std::optional<double> change_norm_;
};

/// Compares a block's rows, `pitch` doubles apart, with what they should be, row-major without padding. Infinite error
/// if exactly one of two values is not a number.
verification compare_block(extents size, const double* rows, std::int64_t pitch, const double* expected);

/// The verification of two parts of a field together.
verification combine(const verification& a, const verification& b);

}  // namespace jacobi
