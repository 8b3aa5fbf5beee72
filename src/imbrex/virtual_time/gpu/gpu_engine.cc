#include "imbrex/virtual_time/gpu/gpu_engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace imbrex {

namespace {
constexpr double nothing_ns = 0.5;  // less is none
}  // namespace

void gpu_engine::begin(const kernel_demand& d, stream_priority urgency, customer& who) {
  pass_time();
  const running r{std::max(d.work_ns, 0.0), d.share, 0, urgency, &who};
  if (running_.size() < most_at_once_) {
    running_.push_back(r);
    share_out();
  } else {
    waiting_.push_back(r);
  }
}

/// Those that run have done what their rates say since these were set.
void gpu_engine::pass_time() {
  const std::int64_t now = all_.now();
  const auto passed = static_cast<double>(now - since_);
  if (!running_.empty()) busy_ns_ += now - since_;
  for (running& r : running_) r.left -= passed * r.rate;
  since_ = now;
}

/// Sets the rates, and when the next one ends.
void gpu_engine::share_out() {
  double left = 1;
  for (const stream_priority p : {stream_priority::high, stream_priority::low}) {
    double wanted = 0;
    for (const running& r : running_) wanted += r.urgency == p ? r.share : 0;
    if (wanted <= 0) continue;
    const double part = std::min(1.0, std::max(left, 0.02) / wanted);  // nobody stands still
    for (running& r : running_) {
      if (r.urgency == p) r.rate = r.share * part;
    }
    left -= wanted * part;
  }
  double first = -1;
  for (const running& r : running_) {
    const double in = std::max(r.left, 0.0) / r.rate;
    if (first < 0 || in < first) first = in;
  }
  if (first < 0) {
    next_at_ = -1;
    return;
  }
  const std::int64_t at = since_ + static_cast<std::int64_t>(std::ceil(first));
  if (num_looks_due_ > 0 && next_at_ >= 0 && next_at_ == at) return;
  next_at_ = at;
  ++num_looks_due_;
  all_.at(at, *this);
}

void gpu_engine::look() {
  --num_looks_due_;
  if (all_.now() != next_at_) return;  // of rates that hold no more
  next_at_ = -1;
  pass_time();
  std::vector<customer*> ended;
  std::erase_if(running_, [&](const running& r) {
    if (r.left > nothing_ns) return false;
    ended.push_back(r.who);
    return true;
  });
  while (!waiting_.empty() && running_.size() < most_at_once_) {
    running_.push_back(waiting_.front());
    waiting_.pop_front();
  }
  share_out();
  for (customer* const c : ended) c->ended(*c);
}

}  // namespace imbrex
