#include "imbrex/hetero/lane.h"

#include <algorithm>

namespace imbrex {

void lane::wait(const lane_point& p) {
  if (p.of == nullptr || p.of == this || p.reached()) return;
  const auto other = static_cast<std::size_t>(p.of->index_);
  if (waited_.size() <= other) waited_.resize(other + 1, 0);
  if (waited_[other] >= p.number) return;
  const std::deque<kept_point>& points = p.of->points_;
  const auto found = std::ranges::lower_bound(points, p.number, {}, &kept_point::number);
  if (found != points.end()) {
    stream_->wait(found->at);
    waited_[other] = found->number;
    return;
  }
  stream_->wait(p.of->stream_->record());
  waited_[other] = p.of->issued_;
}

void lane::when_reached(std::uint64_t number, lane_wait* a) {
  a->number = number;
  a->next = nullptr;
  if (last_ == nullptr || last_->number <= number) {
    (last_ != nullptr ? last_->next : first_) = a;
    last_ = a;
    return;
  }
  lane_wait** at = &first_;
  while ((*at)->number <= number) at = &(*at)->next;
  a->next = *at;
  *at = a;
}

void lane::flush() {
  if (flushed_ == issued_) return;
  flushed_ = issued_;
  stream_->then("tasks", [this, alive = alive_, number = issued_] {
    if (*alive) reach(number);
  });
}

void lane::abandon() {
  *alive_ = false;
  stream_.reset();
  flushed_ = completed_ = issued_;
  points_.clear();
  last_ = nullptr;
  while (first_ != nullptr) {
    lane_wait* const a = first_;
    first_ = a->next;
    a->number = lane_wait::never;
    a->reached(a);
  }
}

void lane::reach(std::uint64_t number) {
  completed_ = number;
  while (!points_.empty() && points_.front().number <= number) points_.pop_front();
  while (first_ != nullptr && first_->number <= completed_) {
    lane_wait* const a = first_;
    first_ = a->next;
    if (first_ == nullptr) last_ = nullptr;
    a->reached(a);
  }
  if (progress_ != nullptr) progress_(progress_argument_);
}

}  // namespace imbrex
