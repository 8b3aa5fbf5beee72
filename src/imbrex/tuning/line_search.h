#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace imbrex {

/// Looks for the cheapest point of a grid, axis after axis, until a round over all axes finds nothing cheaper; then the
/// best two, where they are close, are measured once more, since what is measured has noise.
///
/// Along an ordered axis it goes on from the best known point, up and then down, until costs rise: by more than
/// `clearly_worse` once, or by any amount twice. Of other axes it sees all values. A point counts with the least cost
/// that was told of it. Knows nothing of what a point means; one thread.
class line_search {
 public:
  struct axis {
    std::size_t size = 1;
    bool ordered = true;
  };
  using place = std::vector<std::size_t>;  ///< of each axis

  /// Begins at the first place of all axes. At most `most_trials` places are given out, 1 or more.
  line_search(std::vector<axis> axes, int most_trials);

  /// The next place to measure; nothing when it has seen enough. The same again until it is told.
  const std::optional<place>& next() const { return next_; }
  /// What the place that `next` gave costs; infinity where it cannot be. Precondition: there is one.
  void tell(double cost);

  const place& best() const { return best_; }
  /// Infinity when no place can be.
  double best_cost() const { return cost_of(best_); }
  int num_trials() const { return num_trials_; }

  static constexpr double clearly_worse = 1.2, close = 1.05;

 private:
  enum class way { up, down };

  double cost_of(const place& p) const {
    const auto found = costs_.find(p);
    return found == costs_.end() ? std::numeric_limits<double>::infinity() : found->second;
  }
  void look_for_next();
  /// Goes on along the axis; false when it has been seen.
  bool step();
  void begin_line();
  void begin_axis(std::size_t which);
  /// The runner-up, and the best again, when they are close.
  void look_again();

  const std::vector<axis> axes_;
  const int most_trials_;
  int num_trials_ = 0;
  std::map<place, double> costs_;
  place best_;
  std::optional<place> next_;

  // The line that is being followed: from `best_` as it was when it began.
  std::size_t axis_ = 0;
  std::size_t axes_without_gain_ = 0;
  place axis_best_;  ///< the best one when it began
  place line_;
  double least_of_axis_ = std::numeric_limits<double>::infinity();  ///< before
  way way_ = way::up;
  int times_worse_ = 0;
  std::vector<place> again_;  ///< to be measured once more, in the end
  bool is_last_look_ = false;
};

}  // namespace imbrex
