#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace doctor {

/// How a program ended.
struct ending {
  bool started = false;
  bool timed_out = false;  ///< and was killed
  int code = -1;           ///< as a shell counts it
  std::string output;      ///< of both streams, the first 64 KiB

  bool is_good() const { return started && !timed_out && code == 0; }
  /// The last line that says something.
  std::string last_line() const;
};

/// Runs a command with its processes, which are killed after that time. Blocks.
ending run_command(const std::vector<std::string>& words, std::chrono::seconds patience);

/// The job that is started as a probe: `kind` is that of the devices that its PEs use. All PEs of all ranks take part
/// in a broadcast and a reduction, and each computes something on its device. The exit code.
int run_probe(int ranks, const std::string& kind, int argc, char** argv);

}  // namespace doctor
