#include "imbrex/pe/pe_stepper.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

namespace imbrex {

namespace {
constexpr std::int64_t step_ns = 1'000;  // of a driven time
constexpr std::size_t longest_turn = 8;  // steps, where the order is random
constexpr int many_rounds = 1'000;
constexpr std::chrono::microseconds nap{20};
}  // namespace

pe_stepper::pe_stepper(std::vector<scheduler*> pes, std::function<void(std::size_t)> become, const options& o)
    : pes_(std::move(pes)), become_(std::move(become)), options_(o), random_(mix(o.seed)), order_(pes_.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

void pe_stepper::run() {
  do {
    if (have_turns()) {
      idle_since_ = 0;
      idle_rounds_ = 0;
    } else if (num_running_ > 0) {
      all_idle();
    }
  } while (num_running_ > 0);
}

/// All of them one; false when none had anything to do.
bool pe_stepper::have_turns() {
  for (std::size_t i = order_.size(); options_.seed != 0 && i > 1; --i)
    std::swap(order_[i - 1], order_[random_.below(i)]);
  bool any = false;
  num_running_ = 0;
  for (const std::size_t i : order_) {
    if (pes_[i]->stopping()) continue;
    any |= has_turn(i);
    ++num_running_;
  }
  return any;
}

bool pe_stepper::has_turn(std::size_t i) {
  scheduler& pe = *pes_[i];
  become_(i);
  bool any = false;
  for (std::size_t left = options_.seed == 0 ? 1 : 1 + random_.below(longest_turn); left > 0; --left) {
    pe.collect_everything();  // and not when some time has passed
    if (pe.stopping() || pe.step() == pe_step::nothing) break;
    if (options_.time != nullptr) options_.time->advance(step_ns);
    any = true;
  }
  return any;
}

void pe_stepper::all_idle() {
  if (options_.time != nullptr) {
    std::int64_t next = INT64_MAX;
    for (const scheduler* pe : pes_) next = std::min(next, pe->next_idle_look());
    if (next != INT64_MAX) options_.time->advance_to(next);
    options_.time->advance(step_ns);
  }
  // At once: time may not pass, and those who look whether all is quiet end each spell before it has lasted. Of all of
  // them before one looks, which may have the first one's next message in its inbox each time.
  for (std::size_t i = 0; i < pes_.size(); ++i) {
    if (pes_[i]->stopping() || pes_[i]->devices == nullptr) continue;
    become_(i);
    pes_[i]->devices->ensure_noticed();
  }
  for (std::size_t i = 0; i < pes_.size(); ++i) {
    if (pes_[i]->stopping()) continue;
    become_(i);
    const std::int64_t now = pes_[i]->now_ns();
    if (idle_since_ == 0) idle_since_ = now;
    pes_[i]->is_idle_since(idle_since_, now);
    if (pes_[i]->has_ready()) return;
  }
  rest();
}

/// What comes now comes from outside: from a thread of the program's own, where the time is driven, which is rare.
void pe_stepper::rest() {
  if (options_.time == nullptr || ++idle_rounds_ > many_rounds) std::this_thread::sleep_for(nap);
}

}  // namespace imbrex
