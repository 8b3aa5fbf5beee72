#pragma once

#include <vector>

/// Which device computes which tile of C, and in what order.
namespace tiled_dgemm {

/// A tile of C in row `i`, column `j`; `device` is one of 0, 1, ...
struct placed_tile {
  int i = 0, j = 0;
  int device = 0;
};

/// `rows` x `columns` tiles of C, cut into one block for each of `devices`, so that together they need the fewest rows
/// of A and columns of B; fewer blocks where there are fewer tiles.
class tile_blocks {
 public:
  tile_blocks(int rows, int columns, int devices);
  int device_of(int i, int j) const;
  /// Of the devices' blocks.
  int num_blocks() const { return across_ * down_; }

  /// All tiles, in turn one of each device. A device's first ones are a square that grows, so that what has come of A
  /// and B is used at once; the turns begin with another device each, since the first to need an input brings it from
  /// the host and the others have it from there.
  std::vector<placed_tile> in_turns() const;

 private:
  std::vector<placed_tile> of_block(int block) const;

  int rows_, columns_;
  int down_ = 1, across_ = 1;  // blocks
};

}  // namespace tiled_dgemm
