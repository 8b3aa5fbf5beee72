#include "imbrex/runtime/rank/pe_watch.h"

#include <signal.h>

#include <chrono>

#include <fmt/format.h>

#include "imbrex/base/log.h"

namespace imbrex::detail {

namespace {
constexpr int first_warning_s = 10;
}

pe_watch::pe_watch(const std::vector<scheduler*>& pes, rank_id rank, int num_ranks)
    : rank_(rank), num_ranks_(num_ranks) {
  for (const scheduler* pe : pes) pes_.push_back({pe, pe->turns(), 0, first_warning_s});
  sigset_t all, mine;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mine);  // the program's signals are for its own threads
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &mine, nullptr);
}

pe_watch::~pe_watch() {
  {
    const std::lock_guard hold(mutex_);
    over_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

void pe_watch::run() {
  if (num_ranks_ > 1) set_thread_log_rank(rank_);
  std::unique_lock hold(mutex_);
  while (!ends_.wait_for(hold, std::chrono::seconds(1), [this] { return over_; }))
    for (seen& s : pes_) look(s);
}

void pe_watch::look(seen& s) const {
  const std::uint64_t turn = s.pe->turns();
  const bool rests = (turn & 1) != 0;
  if (turn != s.turn || rests) {
    s.turn = turn;
    s.seconds = 0;
    s.warn_at = first_warning_s;
    return;
  }
  const char* const doing = s.pe->doing();  // null: something of the runtime's, which has reports of its own
  if (++s.seconds < s.warn_at || doing == nullptr) return;
  s.warn_at *= 10;
  log_warning(
      fmt::format("PE {} has been in {} for {} s, and does nothing else meanwhile: where that waits (for a lock, "
                  "MPI, another thread), let a coroutine await it; where it computes, cut it into pieces",
                  s.pe->id(), doing, s.seconds));
}

}  // namespace imbrex::detail
