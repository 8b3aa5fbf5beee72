#pragma once

#include <optional>
#include <string>

/// The command line of cholesky as one value.
namespace cholesky {

struct options {
  int n = 4096;
  int tile = 256;
  bool on_host = true;
  bool on_gpus = false;
  int gpus = 1;  ///< of each rank
  int pes = 0;   ///< of each rank; 0: one for each core, or with GPUs alone one
  int ahead = 20'000;
  int repeats = 3;
  bool verify = true;
  bool quiet = false;
  std::string report;
  std::string command;

  std::string devices_text() const { return !on_gpus ? "the host" : on_host ? "the host and GPUs" : "GPUs"; }
};

/// Nothing when help was asked for. Throws `usage_error`.
std::optional<options> parse_options(int argc, const char* const* argv);

}  // namespace cholesky
