#pragma once

namespace imbrex {
class stream;
}

enum side { west, east, south, north };

/// One iteration of a block of nx x ny cells, x fastest: what it reads and writes, all memory of the device.
struct sweep {
  int nx = 0, ny = 0;
  const double* now = nullptr;
  double* next = nullptr;
  const double* halo[4] = {};  ///< the cells beyond each side; null where the plate ends
  double* edge[4] = {};        ///< gets the new cells along each side, for the neighbour; null where the plate ends
  double* change = nullptr;    ///< gets the largest change of a cell; holds 0 before. Null: nobody wants to know
};

/// The cell at place k beyond a side; the western edge of the plate is hot.
constexpr double beyond(const sweep& t, side s, int k) {
  if (t.halo[s] != nullptr) return t.halo[s][k];
  return s == west ? 1.0 : 0.0;
}

/// Updates a cell and gives its change. For the kernel and for the host: the same operations, so the same bits.
constexpr double update_cell(const sweep& t, int x, int y) {
  const double* const here = t.now + static_cast<long>(y) * t.nx + x;
  const double w = x > 0 ? here[-1] : beyond(t, west, y), e = x < t.nx - 1 ? here[1] : beyond(t, east, y);
  const double s = y > 0 ? here[-t.nx] : beyond(t, south, x), n = y < t.ny - 1 ? here[t.nx] : beyond(t, north, x);
  const double mean = 0.25 * (w + e + s + n);
  t.next[static_cast<long>(y) * t.nx + x] = mean;
  if (x == 0 && t.edge[west] != nullptr) t.edge[west][y] = mean;
  if (x == t.nx - 1 && t.edge[east] != nullptr) t.edge[east][y] = mean;
  if (y == 0 && t.edge[south] != nullptr) t.edge[south][x] = mean;
  if (y == t.ny - 1 && t.edge[north] != nullptr) t.edge[north][x] = mean;
  return mean > *here ? mean - *here : *here - mean;
}

/// The iteration on a GPU, in the order of stream `s`: in 09_gpu_jacobi2d.cu. Returns at once.
void gpu_update(imbrex::stream& s, const sweep& t);
