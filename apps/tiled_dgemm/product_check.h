#pragma once

#include <imbrex/task_graph.h>

/// Whether C is A B, by tasks, wherever the tiles are.
namespace tiled_dgemm {

using tiles = imbrex::distributed<double, imbrex::index2d>;

/// Fills tile (row, column) of the matrix number `which` (dgemm::element), `size` x `size` elements in rows.
void fill_tile(std::uint64_t which, int row, int column, int size, double* to);

/// How many rows of C x are not those of A (B x), for a vector x of 1 and -1, by more than rounding can explain
/// (Freivalds 1979). A wrong element changes a row of C x by as much as it is wrong; a row with a NaN is wrong. By all
/// ranks; of `num_tiles` x `num_tiles` tiles of `size` x `size` elements. Behind all tasks submitted by now.
imbrex::task<int> count_wrong_rows(imbrex::task_graph& g, tiles& a, tiles& b, tiles& c, int num_tiles, int size);

}  // namespace tiled_dgemm
