#include "imbrex/checkpoint/live/checkpoint_signal.h"

#include <atomic>
#include <csignal>

namespace imbrex {

namespace {

std::atomic<int> came{0};
static_assert(std::atomic<int>::is_always_lock_free, "signal handlers use it");

extern "C" void imbrex_checkpoint_signal(int number) { came.store(number, std::memory_order_relaxed); }

struct sigaction before_term, before_usr1;

void listen(int number, struct sigaction& before) {
  struct sigaction how = {};
  how.sa_handler = &imbrex_checkpoint_signal;
  // Whoever sends SIGTERM twice means it.
  how.sa_flags = SA_RESTART | (number == SIGTERM ? static_cast<int>(SA_RESETHAND) : 0);
  sigemptyset(&how.sa_mask);
  sigaction(number, &how, &before);
}

}  // namespace

checkpoint_signals::checkpoint_signals() {
  clear();
  listen(SIGTERM, before_term);
  listen(SIGUSR1, before_usr1);
}

checkpoint_signals::~checkpoint_signals() {
  sigaction(SIGTERM, &before_term, nullptr);
  sigaction(SIGUSR1, &before_usr1, nullptr);
}

int checkpoint_signals::pending() { return came.load(std::memory_order_relaxed); }
void checkpoint_signals::clear() { came.store(0, std::memory_order_relaxed); }

}  // namespace imbrex
