#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imbrex/base/build_config.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "finding.h"
#include "probe.h"

namespace doctor {

namespace {

constexpr std::chrono::seconds longest_wait{60};

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

/// What a probe that failed has said, or how it ended.
std::string complaint(const ending& e) {
  if (!e.started) return "could not be started";
  if (e.timed_out) return fmt::format("did not end within {} s", longest_wait.count());
  const std::string last = e.last_line();
  if (last.empty()) return fmt::format("ended with {}", e.code);
  constexpr std::string_view prefix = "imbrex: error: ";
  return last.starts_with(prefix) ? last.substr(prefix.size()) : last;
}

std::vector<std::string> probe_command(int ranks, const std::string& kind) {
  return {this_program(), "doctor", "--probe-ranks", std::to_string(ranks), "--probe-device", kind};
}

finding try_host() {
  const ending e = run_command(probe_command(1, "host"), longest_wait);
  if (e.is_good()) return works("a job", e.last_line());
  return wrong("a job", complaint(e), "please report it, with this output");
}

/// One without devices is no fault; one whose devices do not work is.
finding try_device(const std::string& kind, const char* remedy) {
  const ending e = run_command(probe_command(1, kind), longest_wait);
  const std::string what = "a job on " + kind;
  if (e.is_good()) return works(what, "a kernel computed what it should");
  const bool is_absent =
      e.output.find("no GPU") != std::string::npos || e.output.find("no device") != std::string::npos;
  return is_absent ? absent(what, complaint(e), remedy) : wrong(what, complaint(e), remedy);
}

bool is_refused_as_root(const ending& e) {
  return geteuid() == 0 && e.output.find("allow-run-as-root") != std::string::npos;
}

finding try_ranks() {
  const std::string what = "a job of two processes";
  const ending launcher = run_command({"mpirun", "--version"}, longest_wait);
  if (!launcher.started || launcher.code == 127) {
    return wrong(what, "there is no mpirun",
                 "sudo apt-get install openmpi-bin, or load the module of the MPI that imbrex was built with");
  }
  std::vector<std::string> words{"mpirun", "-n", "2"};
  if (launcher.output.find("Open MPI") != std::string::npos) words.emplace_back("--oversubscribe");
  for (std::string& w : probe_command(2, "host")) words.push_back(std::move(w));
  words.emplace_back("--imbrex-pes=1");
  const ending e = run_command(words, longest_wait);
  if (e.is_good()) return works(what, e.last_line());
  if (is_refused_as_root(e)) {
    return wrong(what, "Open MPI's mpirun refuses root",
                 "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, in containers");
  }
  if (e.output.find("each is a job of 1") != std::string::npos) {
    return wrong(what, "mpirun is of another MPI than imbrex, which was built with " IMBREX_NOTE_MPI,
                 "put that MPI's mpirun first in PATH, or build imbrex with this one");
  }
  return wrong(what, complaint(e), fmt::format("to see it again: {}", fmt::join(words, " ")));
}

}  // namespace

findings look_at_jobs() {
  findings all{try_host()};
  if (IMBREX_HAVE_CUDA != 0) {
    all.push_back(
        try_device("cuda", "nvidia-smi tells whether the driver sees a GPU; imbrex info says which imbrex sees"));
  }
  if (IMBREX_HAVE_OPENCL != 0) {
    all.push_back(
        try_device("opencl", "sudo apt-get install pocl-opencl-icd, for one on the CPU; clinfo lists others"));
  }
  if (IMBREX_HAVE_MPI != 0) all.push_back(try_ranks());
  return all;
}

}  // namespace doctor
