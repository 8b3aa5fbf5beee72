#include "imbrex/async/sleepers.h"

namespace imbrex {

sleepers::sleepers(const std::vector<executor*>& pes) : asking_(pes.size()) {
  for (std::size_t i = 0; i < pes.size(); ++i) {
    sleeper& s = asking_[i];
    s.pe = pes[i];
    s.set_priority(priorities::communication);
    s.act = [](work* w, work_action) { static_cast<sleeper*>(w)->called.store(false, std::memory_order_release); };
  }
}

// Either the one that offers sees who asks, or the one that asks sees what is offered.
void sleepers::ask(std::size_t i) {
  if (!asking_[i].wanted.exchange(true, std::memory_order_relaxed)) num_asking_.fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void sleepers::withdraw(std::size_t i) {
  if (asking_[i].wanted.exchange(false, std::memory_order_relaxed)) num_asking_.fetch_sub(1, std::memory_order_relaxed);
}

void sleepers::call(int num_pieces) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (num_asking_.load(std::memory_order_relaxed) == 0) return;
  for (std::size_t i = 0; i < asking_.size() && num_pieces > 0; ++i) {
    sleeper& s = asking_[i];
    if (!s.wanted.exchange(false, std::memory_order_relaxed)) continue;
    num_asking_.fetch_sub(1, std::memory_order_relaxed);
    if (s.called.exchange(true, std::memory_order_acq_rel)) continue;  // it has been, and has not come to that yet
    s.pe->post(&s);
    --num_pieces;
  }
}

}  // namespace imbrex
