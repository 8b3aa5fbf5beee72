#include "imbrex/balance/live/patience.h"

#include <algorithm>
#include <utility>

namespace imbrex {

void plan_patience::judge_last(double measured) {
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
  if (promised - measured < smallest) return false;
  if (left_ > 0) {
    --left_;
    return false;
  }
  tried_ = true;
  before_ = measured;
  promised_ = promised;
  return true;
}

}  // namespace imbrex
