#pragma once

#include <cstdint>
#include <string>

#include "decomposition.h"
#include "field/file.h"

/// NumPy's .npy format, for fields of float64 in C order with shape (nz, ny, nx).
namespace jacobi {

/// Reads parts of a .npy file. Any number of readers may read the same file at once.
class npy_reader {
 public:
  /// Opens the file and checks its header (versions 1 to 3) and its length. Throws usage_error, which names the file
  /// and what is wrong: not readable, not .npy, another type, Fortran order, other than three dimensions, cut short.
  explicit npy_reader(const std::string& path);

  extents grid() const { return grid_; }

  /// Reads a box of cells into rows that are `pitch` doubles apart. Throws error if the file cannot be read.
  void read_box(const box& cells, double* rows, std::int64_t pitch) const;

 private:
  file file_;
  extents grid_;
  std::uint64_t data_offset_ = 0;
};

/// The bytes in front of the data of a .npy file of this grid: version 1, a multiple of 64 bytes.
std::string npy_header(extents grid);

}  // namespace jacobi
