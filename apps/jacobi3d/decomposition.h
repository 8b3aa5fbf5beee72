#pragma once

#include <array>
#include <cstdint>
#include <optional>

/// How the grid is cut into blocks. Pure arithmetic; every function may be called from any thread.
namespace jacobi {

/// Cells in each direction; x is the fastest in memory.
struct extents {
  std::int64_t nx = 0, ny = 0, nz = 0;
  std::int64_t cells() const { return nx * ny * nz; }
  bool operator==(const extents&) const = default;
};

/// The six faces of a block. A face and its opposite differ in the last bit only.
enum class face : int { xlo = 0, xhi = 1, ylo = 2, yhi = 3, zlo = 4, zhi = 5 };
inline constexpr int num_faces = 6;
inline constexpr std::array<face, num_faces> all_faces{face::xlo, face::xhi, face::ylo,
                                                       face::yhi, face::zlo, face::zhi};
constexpr face opposite(face f) { return static_cast<face>(static_cast<int>(f) ^ 1); }
const char* name(face f);

/// A block's place among the blocks, 0 <= x < cx and so on.
struct block_position {
  int x = 0, y = 0, z = 0;
  bool operator==(const block_position&) const = default;
};

/// The cells of a block: the first one's global coordinates, and the block's extents.
struct box {
  std::int64_t x0 = 0, y0 = 0, z0 = 0;
  extents size;
  bool operator==(const box&) const = default;
};

class decomposition {
 public:
  /// Cuts the grid into cx * cy * cz blocks whose extents differ by at most one cell in each direction.
  /// Throws usage_error if a count is below 1 or exceeds the cells in its direction.
  decomposition(extents grid, int cx, int cy, int cz);

  /// The cut into `num_blocks` blocks with the least total surface. On ties z is cut before y before x, because x faces
  /// are the expensive ones to pack; every cell of an x face counts `x_weight` times. Throws usage_error naming the
  /// nearest counts that work if there is no such cut.
  static decomposition of_least_surface(extents grid, std::int64_t num_blocks, std::int64_t x_weight = 1);

  /// Whether the grid can be cut into that many blocks of at least one cell in every direction.
  static bool possible(extents grid, std::int64_t num_blocks);

  extents grid() const { return grid_; }
  int cx() const { return cx_; }
  int cy() const { return cy_; }
  int cz() const { return cz_; }
  std::int64_t num_blocks() const { return std::int64_t{cx_} * cy_ * cz_; }

  /// The numbering of the blocks: x fastest.
  std::int64_t number(block_position p) const { return (std::int64_t{p.z} * cy_ + p.y) * cx_ + p.x; }
  block_position position(std::int64_t number) const;

  box cells(block_position p) const;

  /// The block that touches `side` of block `p`; in a periodic domain that may be `p` itself. Nothing where the domain
  /// ends. The neighbour touches with its opposite face.
  std::optional<block_position> neighbour(block_position p, face side, bool periodic) const;

  /// Cells on the faces of all blocks, those on the domain's surface included: what `of_least_surface` minimises.
  std::int64_t total_surface() const;

 private:
  extents grid_;
  int cx_, cy_, cz_;
};

}  // namespace jacobi
