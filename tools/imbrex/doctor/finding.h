#pragma once

#include <string>
#include <utility>
#include <vector>

namespace doctor {

/// One thing that was looked at.
struct finding {
  enum class verdict {
    works,
    absent,  ///< this build or machine is without it, and programs do without
    wrong,   ///< it is there and does not work, or will hurt
  } is = verdict::works;
  std::string what;    ///< "mpirun"
  std::string said;    ///< what was seen, or what went wrong
  std::string remedy;  ///< the line to type, or what to do; empty where nothing is to be done
};
using findings = std::vector<finding>;

inline finding works(std::string what, std::string said) {
  return {finding::verdict::works, std::move(what), std::move(said), {}};
}
inline finding absent(std::string what, std::string said, std::string remedy = {}) {
  return {finding::verdict::absent, std::move(what), std::move(said), std::move(remedy)};
}
inline finding wrong(std::string what, std::string said, std::string remedy) {
  return {finding::verdict::wrong, std::move(what), std::move(said), std::move(remedy)};
}

/// What this build is without.
findings look_at_build();
/// Cores, memory and limits of this process.
findings look_at_machine();
/// Jobs that were started and did, or did not do, what they should: on the PEs, on each kind of device, over processes.
findings look_at_jobs();

}  // namespace doctor
