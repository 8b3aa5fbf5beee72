#pragma once

#include <imbrex/imbrex.h>

#include <optional>
#include <string>

/// The command line of tiled_stencil as one value.
namespace tiled_stencil {

struct options {
  int n = 4096;
  int tile = 512;
  int steps = 100;
  bool on_host = true;
  std::optional<imbrex::device_kind> on_devices;  ///< CUDA or OpenCL
  int gpus = 1;                                   ///< devices of each rank
  int pes = 0;                                    ///< of each rank; 0: one for each core, or with devices alone one
  int ahead = 20'000;
  int repeats = 3;
  bool verify = true;
  bool quiet = false;
  std::string report;
  std::string command;

  std::string devices_text() const;
};

/// Nothing when help was asked for. Throws `usage_error`.
std::optional<options> parse_options(int argc, const char* const* argv);

}  // namespace tiled_stencil
