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
  int gpus = 1;
  int pes = 0;              ///< 0: one for each device, or with the host alone one for each core
  double host_share = 0.1;  ///< with a library, host and GPUs: the part of the tiles of C that the host computes
  bool resident = false;    ///< inputs stay on the devices from the warm-up on
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
