#include "imbrex/tuning/line_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace imbrex {

line_search::line_search(std::vector<axis> axes, int most_trials)
    : axes_(std::move(axes)), most_trials_(std::max(most_trials, 1)), best_(axes_.size(), 0), next_(best_) {}

void line_search::tell(double cost) {
  const place told = *next_;
  ++num_trials_;
  const auto [found, is_new] = costs_.emplace(told, cost);
  if (!is_new) found->second = std::min(found->second, cost);
  const bool is_better = costs_.at(told) < best_cost();
  if (is_better) best_ = told;
  if (num_trials_ == 1) {
    begin_axis(0);
  } else if (!is_last_look_) {
    line_ = told;
    const double ratio = cost / least_of_axis_;
    if (is_better) {
      times_worse_ = 0;
      least_of_axis_ = cost;
    } else {
      times_worse_ += ratio > clearly_worse ? 2 : 1;
    }
  }
  next_.reset();
  if (num_trials_ < most_trials_) look_for_next();
}

void line_search::begin_axis(std::size_t which) {
  axis_ = which;
  axis_best_ = best_;
  way_ = way::up;
  begin_line();
}

void line_search::begin_line() {
  line_ = best_;
  least_of_axis_ = best_cost();
  times_worse_ = 0;
}

bool line_search::step() {
  const axis& a = axes_[axis_];
  for (;;) {
    const bool is_over =
        (a.ordered && times_worse_ >= 2) || (way_ == way::up ? line_[axis_] + 1 >= a.size : line_[axis_] == 0);
    if (is_over) {
      if (way_ == way::down) return false;
      way_ = way::down;
      begin_line();
      continue;
    }
    line_[axis_] += way_ == way::up ? std::size_t{1} : std::size_t(-1);
    const auto known = costs_.find(line_);
    if (known == costs_.end()) return true;
    // Seen before: as if it were told.
    if (known->second <= least_of_axis_) {
      times_worse_ = 0;
    } else {
      times_worse_ += known->second / least_of_axis_ > clearly_worse ? 2 : 1;
    }
  }
}

void line_search::look_for_next() {
  if (!is_last_look_) {
    while (axes_without_gain_ < axes_.size()) {
      if (step()) {
        next_ = line_;
        return;
      }
      // The axis has been seen. It has brought something if the best lies elsewhere than when it began.
      const bool has_gained = axis_best_ != best_;
      axes_without_gain_ = has_gained ? 1 : axes_without_gain_ + 1;
      begin_axis((axis_ + 1) % axes_.size());
    }
    is_last_look_ = true;
    look_again();
  }
  if (again_.empty()) return;
  next_ = again_.back();
  again_.pop_back();
}

void line_search::look_again() {
  if (!std::isfinite(best_cost())) return;
  const place* second = nullptr;
  for (const auto& [p, cost] : costs_) {
    if (p == best_ || cost > best_cost() * close) continue;
    if (second == nullptr || cost < cost_of(*second)) second = &p;
  }
  if (second == nullptr) return;
  again_ = {best_, *second};
}

}  // namespace imbrex
