#pragma once

#include <vector>

namespace dgemm {

/// Which of `num_devices` devices PE `pe` of `num_pes` uses: each device has a PE, and each PE a device; a device is
/// shared only when there are more PEs.
inline std::vector<int> dealt_devices(int pe, int num_pes, int num_devices) {
  std::vector<int> mine;
  for (int d = pe; d < num_devices; d += num_pes) mine.push_back(d);
  if (mine.empty()) mine.push_back(pe % num_devices);
  return mine;
}

/// How many of `total` are PE `pe`'s: as equal as can be.
inline int dealt_count(int total, int pe, int num_pes) { return total / num_pes + (pe < total % num_pes ? 1 : 0); }

}  // namespace dgemm
