#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

/// `imbrex mpi-check`: what a CUDA-aware MPI's looking at every buffer costs a program, and what eliding it returns
/// (Moraru et al. 2021, section 5), by running the program with libimbrex_sessions.so in several modes.
namespace mpi_check {

struct options {
  std::vector<std::string> command;  ///< launcher, program and arguments
  int repeats = 5;                   ///< rounds, each of one run in every variant
  std::optional<long> delay_ns;      ///< stands for the driver; not set: the driver where the ranks have one
  std::string pattern;               ///< IMBREX_SESSIONS_PATTERN of the elided runs, or empty
  std::string output = "out/mpi-check";
  std::string html;     ///< the report as a page; empty: mpi-check.html in `output`
  std::string library;  ///< libimbrex_sessions.so; empty: looked for beside this program
};

/// A way to run the program: the library's modes. No modes: without the library.
struct variant {
  std::string name;
  std::string modes;
};

/// One run. `seconds` are the program's own, from the end of MPI_Init to the beginning of MPI_Finalize on its slowest
/// rank, and `report` is the library's (docs/sessions.md); without the library there are neither.
struct run {
  double wall_s = 0;
  double seconds = 0;
  int exit_code = 0;
  nlohmann::ordered_json report;
};

/// All runs of one variant, in the order of the rounds.
struct series {
  variant what;
  std::vector<run> runs;
};

/// What was measured. `plain` is the first of `all`; those that follow are compared with it round by round.
struct result {
  options asked;
  run without_library;
  run looked_at;                 ///< which kinds of memory travel where: the library's mode kinds
  std::optional<long> delay_ns;  ///< as used: may stand for a driver that is not there
  std::vector<series> all;
  int rounds = 0;  ///< that are complete

  const series* find(const std::string& name) const;
};

/// Runs everything; a line on stderr for each run. After each round `keep` is given what was measured so far, so that
/// nothing is lost where a later run fails or is not waited for. Throws `usage_error` where the program cannot be
/// started or fails without the library, `error` where the library makes a difference to its exit code or did not come
/// to the ranks.
result measure(const options& o, const std::function<void(const result&)>& keep);

}  // namespace mpi_check
