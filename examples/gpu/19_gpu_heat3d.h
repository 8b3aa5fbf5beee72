#pragma once

namespace imbrex {
class stream;
}

enum side { west, east, south, north, bottom, top };

/// One iteration of a block of nx x ny x nz cells, x fastest and even: what it reads and writes, memory of the device.
struct sweep {
  int nx = 0, ny = 0, nz = 0;
  const double* now = nullptr;
  double* next = nullptr;
  const double* halo[6] = {};  ///< the cells beyond each side; null where the body ends, which is cold there
  double* edge[6] = {};        ///< gets the new cells along each side, for the neighbour; null where the body ends
};

/// On a GPU, in the order of stream `s`: in 19_gpu_heat3d.cu. Returns at once.
void gpu_update(imbrex::stream& s, const sweep& t);
