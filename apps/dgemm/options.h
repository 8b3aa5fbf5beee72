#pragma once

#include <optional>
#include <string>
#include <vector>

#include "variant.h"

/// The command line of dgemm as one value.
namespace dgemm {

struct options {
  std::vector<int> sizes{64, 128, 256, 512, 768, 1024};
  std::vector<variant> variants;  ///< empty: all that can run
  int iterations = 100;
  int repeats = 5;
  imbrex::device_kind device = imbrex::device_kind::host;
  std::vector<int> gpus{1};  ///< over so many devices, one after the other
  std::vector<int> pes{1};   ///< submitted by so many PEs, one after the other
  int lanes = 5;             ///< streams for kernels of the variant `queues`
  bool quiet = false;
  std::string report;   ///< JSON; empty: none
  std::string command;  ///< as it was typed, for the report

  int most_gpus() const;
  int most_pes() const;
};

/// Reads a command line; passes over what belongs to the runtime. Returns nothing when help was asked for (it is
/// printed to stdout). Throws `usage_error`.
std::optional<options> parse_options(int argc, const char* const* argv);

/// "host", "cuda" or "opencl". Throws `usage_error`.
imbrex::device_kind parse_device(const std::string& text, const char* option);

}  // namespace dgemm
