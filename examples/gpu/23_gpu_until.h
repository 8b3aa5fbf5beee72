#pragma once

namespace imbrex {
class stream;
}

enum edge { upper, lower };

/// One iteration of a stripe of nx x ny cells, x fastest and a multiple of four, memory of the device. The first and
/// the last cell of each row stay as they are.
struct sweep {
  int nx = 0, ny = 0;
  const float* now = nullptr;
  float* next = nullptr;
  const float* beyond[2] = {};  ///< the rows beside the stripe
  float* out[2] = {};           ///< get the new rows along its edges, for the neighbours
  float* change = nullptr;      ///< gets the sum of squares of what has changed in each group's cells
};

/// On a GPU, in the order of stream `s`: in 23_gpu_until.cu. Returns at once.
void gpu_update(imbrex::stream& s, const sweep& t);
/// How many groups it has.
int num_gpu_groups(int nx, int ny);
