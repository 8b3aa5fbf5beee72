#include "tile_order.h"

#include <algorithm>
#include <climits>
#include <tuple>

#include "dealt_devices.h"

namespace tiled_dgemm {

tile_blocks::tile_blocks(int rows, int columns, int devices) : rows_(rows), columns_(columns) {
  int most = 0, fewest = INT_MAX;
  for (int down = 1; down <= std::min(devices, rows); ++down) {
    const int across = std::min(devices / down, columns);
    const int inputs = (rows + down - 1) / down + (columns + across - 1) / across;
    if (down * across < most || (down * across == most && inputs >= fewest)) continue;
    most = down * across;
    fewest = inputs;
    down_ = down;
    across_ = across;
  }
}

int tile_blocks::device_of(int i, int j) const {
  const auto part = [](int at, int total, int parts) {
    int p = 0;
    while (p + 1 < parts && at >= dgemm::dealt_first(total, p + 1, parts)) ++p;
    return p;
  };
  return part(i, rows_, down_) * across_ + part(j, columns_, across_);
}

std::vector<placed_tile> tile_blocks::of_block(int block) const {
  const int y = block / across_, x = block % across_;
  const int first_i = dgemm::dealt_first(rows_, y, down_), first_j = dgemm::dealt_first(columns_, x, across_);
  std::vector<placed_tile> tiles;
  for (int i = 0; i < dgemm::dealt_count(rows_, y, down_); ++i) {
    for (int j = 0; j < dgemm::dealt_count(columns_, x, across_); ++j)
      tiles.push_back({first_i + i, first_j + j, block});
  }
  const auto key = [&](const placed_tile& t) { return std::tuple(std::max(t.i - first_i, t.j - first_j), t.i, t.j); };
  std::sort(tiles.begin(), tiles.end(), [&](const placed_tile& s, const placed_tile& t) { return key(s) < key(t); });
  return tiles;
}

std::vector<placed_tile> tile_blocks::in_turns() const {
  std::vector<std::vector<placed_tile>> blocks;
  blocks.reserve(static_cast<std::size_t>(num_blocks()));
  for (int b = 0; b < num_blocks(); ++b) blocks.push_back(of_block(b));
  std::vector<placed_tile> all;
  const auto total = static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_);
  for (std::size_t turn = 0; all.size() < total; ++turn) {
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const std::vector<placed_tile>& block = blocks[(b + turn) % blocks.size()];
      if (turn < block.size()) all.push_back(block[turn]);
    }
  }
  return all;
}

}  // namespace tiled_dgemm
