#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mpi_check_summary.h"

namespace mpi_check {

/// What one kind of memory costs to ask about, in the middle of the program.
struct kind_cost {
  std::string memory;  ///< host, pinned, device, managed
  double checks = 0;
  double query_ns = 0;  ///< mean
};

/// A communicator, or windows, files: where its buffers lie, and what could be declared of it.
struct place_of_buffers {
  std::string where;
  std::string declared;  ///< the pattern that the program declares, or empty
  std::string pattern;   ///< the pattern that its buffers keep to, or empty where they lie in both or in managed memory
  double checks = 0;
};

/// What to do, by the time that the library measured in queries itself, not by differences of run times: those have
/// more noise than most programs have queries.
struct advice {
  enum class verdict { nothing, elide, declare };
  verdict what = verdict::nothing;
  bool by_mpi = false;  ///< the MPI's own queries; else one for each buffer, as a GPU-aware MPI makes them
  double asking_calls_percent = 0;
  double queries_per_call = 0;  ///< of a call that asks
  double query_ns = 0;
  double lost_percent = 0;                        ///< of the run, on all ranks together
  double elide_percent = 0, declare_percent = 0;  ///< what either would return of the run
  double gain_us_per_call = 0, gain_percent = 0;  ///< of the verdict
  std::string because;                            ///< why not the other; empty where that goes without saying
  std::vector<kind_cost> kinds;
  std::vector<place_of_buffers> places;
  std::string common_pattern;  ///< the one that would do for the whole program, or empty
};

/// Less than this part of a run is not worth a change.
constexpr double least_percent = 0.1;

advice advise(const result& r, const summary& s);

const char* name_of(advice::verdict what);

/// The verdict in one sentence with its numbers, and further lines: reasons, what to type, what to declare.
std::string headline(const advice& a);
std::vector<std::string> details(const advice& a);

nlohmann::ordered_json to_json(const advice& a);

}  // namespace mpi_check
