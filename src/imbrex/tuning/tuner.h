#pragma once

#include <optional>
#include <string>
#include <vector>

#include "imbrex/tuning/line_search.h"
#include "imbrex/tuning/tuning_memory.h"
#include "imbrex/tuning/tuning_point.h"

namespace imbrex {

class runtime;

/// Finds out which values of a program's parameters are fastest here, by trying them, and remembers it for next time.
///
///     ix::tuner t(rt, "heat", fmt::format("{}^3", n), {{"odf", {1, 2, 4, 8}}, {"steps", {1, 2, 4, 8}}});
///     while (auto p = t.next()) {
///       auto one = a_few_iterations(rt, (*p)["odf"], (*p)["steps"]);
///       t.tell(co_await one);                                      // microseconds an iteration
///     }
///     const ix::tuning_point best = t.best();
///
/// The search follows one parameter after the other (line_search.h), a dozen trials for two parameters of five values.
/// What was found is kept in a file (tuning_memory.h) by program, problem, parameters and machine: PEs, ranks, and the
/// processors and GPUs, or the machine that is simulated. Then `next` gives nothing at once.
///
/// For the main chare: rank 0 alone knows. A trial is the program's: it makes what it measures, looks that nothing else
/// is under way, and removes it (`destroy`, `rt.quiescence()`).
class tuner {
 public:
  /// `program` and `problem` in words of the program: what the best values depend on beside the machine. Throws
  /// `usage_error` when there is no parameter, or one without values or a name, or two of one name.
  tuner(const runtime& rt, std::string program, std::string problem, std::vector<tuning_parameter> parameters,
        int most_trials = 24);
  /// The same on a machine that is described by the caller, remembering in `path` (empty: nowhere).
  tuner(std::string machine, std::string path, std::string program, std::string problem,
        std::vector<tuning_parameter> parameters, int most_trials = 24);

  /// The point to measure next; nothing when the best is known. The same again until it is told.
  std::optional<tuning_point> next();
  /// What the point that `next` gave costs: less is better; infinity where it cannot be done. The last one that is
  /// needed writes the file. Throws `usage_error` when `next` has nothing or was not asked since, or the cost is no
  /// number or negative.
  void tell(double cost);

  /// The best point so far. Throws `usage_error` when none of those tried can be done, or none has been tried.
  tuning_point best() const;
  double best_cost() const { return search_.best_cost(); }
  bool was_remembered() const { return remembered_.has_value(); }
  int num_trials() const { return search_.num_trials(); }

  /// Ends the search: `next` gives nothing from then on. What is best so far is remembered.
  void stop();

 private:
  bool is_over() const { return remembered_ || is_stopped_ || !search_.next(); }
  bool is_offered(const std::vector<int>& values) const;
  tuning_point at(const line_search::place& p) const;
  void keep() const;

  const std::vector<tuning_parameter> parameters_;
  const tuning_memory memory_;
  const tuning_memory::subject subject_;
  line_search search_;
  bool is_stopped_ = false;
  bool was_asked_ = false;  // what to try, and has not been told since
  std::optional<tuning_point> remembered_;
};

}  // namespace imbrex
