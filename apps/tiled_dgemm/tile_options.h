#pragma once

#include <imbrex/imbrex.h>

#include <optional>
#include <string>
#include <vector>

/// The command line of tiled_dgemm as one value.
namespace tiled_dgemm {

struct options {
  std::vector<int> sizes{1024};
  std::vector<int> tiles{64};
  bool library = false;  ///< tiles by OpenBLAS and cuBLAS, else by the kernel in the dialect
  bool on_host = true;
  std::optional<imbrex::device_kind> on_devices;  ///< cuda or opencl
  int gpus = 1;                                   ///< of a process
  int pes = 0;            ///< 0: one for each core where the host computes, else one for each device
  int ahead = 10'000;     ///< tasks of a rank that may be in memory at once
  bool resident = false;  ///< inputs stay on the devices from the warm-up on
  bool verify = true;
  int repeats = 5;
  bool quiet = false;
  std::string report;
  std::string command;

  std::string devices_text() const;
};

/// As that of dgemm: nothing when help was asked for. Throws `usage_error`.
std::optional<options> parse_options(int argc, const char* const* argv);

}  // namespace tiled_dgemm
