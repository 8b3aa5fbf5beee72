#include "imbrex/virtual_time/gpu/gpu_engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace imbrex {

namespace {
constexpr double nothing_ns = 0.5;       // less is none
constexpr double nothing_of_gpu = 1e-6;  // the same
constexpr double least_share = 0.02;     // nobody stands still for urgent ones
}  // namespace

void gpu_engine::begin(const kernel_demand& d, stream_priority urgency, customer& who) {
  pass_time();
  const double work = d.round_ns > 0 ? d.work_ns / d.round_ns : d.work_ns;
  const running r{std::max(work, 0.0), d.share, 0, urgency, &who, d.round_ns};
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

/// Sets the rates, lets blocks begin, and says when the next of all that ends.
void gpu_engine::share_out() {
  double free = 1;
  for (const batch& b : batches_) free -= b.share;
  const double least = free > least_share ? least_share : 0;
  for (const stream_priority p : {stream_priority::high, stream_priority::low}) {
    free = give_rates(p, free, least);
    free = begin_batches(p, free);
  }
  look_at(next_end());
}

/// Both return what is left of the GPU.
double gpu_engine::give_rates(stream_priority p, double free, double least) {
  const auto shares = [p](const running& r) { return r.urgency == p && r.round_ns == 0; };
  double wanted = 0;
  for (const running& r : running_) wanted += shares(r) ? r.share : 0;
  if (wanted <= 0) return free;
  const double part = std::min(1.0, std::max(free, least) / wanted);
  for (running& r : running_) {
    if (shares(r)) r.rate = r.share * part;
  }
  return free - wanted * part;
}

double gpu_engine::begin_batches(stream_priority p, double free) {
  for (running& r : running_) {
    if (r.urgency != p || r.round_ns == 0 || r.left <= nothing_of_gpu) continue;
    const double share = std::min(free, r.left);
    if (share <= nothing_of_gpu) return free;
    batches_.push_back({since_ + static_cast<std::int64_t>(std::ceil(r.round_ns)), share, r.who});
    ++r.num_batches;
    r.left -= share;
    free -= share;
  }
  return free;
}

/// -1: nothing runs.
std::int64_t gpu_engine::next_end() const {
  double first = -1;
  for (const running& r : running_) {
    if (r.rate <= 0) continue;
    const double in = std::max(r.left, 0.0) / r.rate;
    if (first < 0 || in < first) first = in;
  }
  std::int64_t at = first < 0 ? -1 : since_ + static_cast<std::int64_t>(std::ceil(first));
  for (const batch& b : batches_) at = at < 0 ? b.until : std::min(at, b.until);
  return at;
}

void gpu_engine::look_at(std::int64_t at) {
  const bool is_due = num_looks_due_ > 0 && next_at_ >= 0 && next_at_ == at;
  next_at_ = at;
  if (at < 0 || is_due) return;
  ++num_looks_due_;
  all_.at(at, *this);
}

void gpu_engine::end_batches() {
  std::erase_if(batches_, [this](const batch& b) {
    if (b.until > since_) return false;
    --std::ranges::find(running_, b.who, &running::who)->num_batches;
    return true;
  });
}

void gpu_engine::look() {
  --num_looks_due_;
  if (all_.now() != next_at_) return;  // of rates that hold no more
  next_at_ = -1;
  pass_time();
  end_batches();
  std::vector<customer*> ended;
  std::erase_if(running_, [&](const running& r) {
    if (r.num_batches > 0 || r.left > (r.round_ns > 0 ? nothing_of_gpu : nothing_ns)) return false;
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
