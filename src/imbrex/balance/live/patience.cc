#include "imbrex/balance/live/patience.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace imbrex {

double plan_patience::worth_trying() const { return std::max(smallest, 3 * std::min(chance_, most_chance)); }

void plan_patience::judge_last(double measured) {
  if (last_ >= 0) chance_ += 0.2 * (std::abs(measured - last_) - chance_);
  last_ = measured;
  if (!std::exchange(tried_, false)) return;
  if (measured - before_ >= kept * (promised_ - before_)) {
    wait_ /= 2;
  } else {
    wait_ = std::clamp(2 * wait_, 1, longest_wait);
    left_ = wait_;
  }
}

void plan_patience::looks_only(double measured) {
  judge_last(measured);
  left_ = std::max(left_ - 1, 0);
}

bool plan_patience::tries(double measured, double promised) {
  judge_last(measured);
  if (promised - measured < worth_trying()) return false;
  if (left_ > 0) {
    --left_;
    return false;
  }
  tried_ = true;
  last_ = -1;
  before_ = measured;
  promised_ = promised;
  return true;
}

}  // namespace imbrex
