#include "imbrex/checkpoint/live/checkpoint_leader.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/log.h"
#include "imbrex/checkpoint/live/checkpoint_requests.h"
#include "imbrex/checkpoint/live/point_messages.h"
#include "imbrex/comm/rank_lost.h"
#include "imbrex/object/collection/entry_activity.h"

namespace imbrex {

namespace {

/// What is done at the end of a scope.
template <class F>
struct at_end {
  F f;
  ~at_end() { f(); }
};
template <class F>
at_end(F) -> at_end<F>;

}  // namespace

checkpoint_leader::checkpoint_leader(chare_pe& pe, const checkpoint_options& options, rank_memory* memory)
    : pe_(pe),
      folder_(options.folder),
      memory_(memory),
      maker_(pe, options, memory),
      to_files_(!options.folder.empty(), options.every_ns, options.every_points, pe.now_ns()),
      to_memory_(memory != nullptr && options.in_memory() && pe.rank().num_ranks > 1, options.memory_every_ns,
                 options.memory_every_points, pe.now_ns()) {
  if (maker_.claim_folder()) return;
  log_warning(
      fmt::format("another job makes checkpoints in {}, or has just ended: this one can make none there until that has "
                  "ended; give each a folder of its own",
                  folder_));
}

checkpoint_leader::~checkpoint_leader() {
  if (next_pes_ == 0) return;
  log_warning(
      fmt::format("the job did not go on with {} PEs of each rank, as resize was told: no checkpoint could be "
                  "made for that, or no point for one came after it",
                  next_pes_));
}

task<std::string> checkpoint_leader::make(std::string base) {
  auto turn = maker_.my_turn();
  co_await turn;
  const at_end over{[this] { maker_.end_turn(); }};
  auto taken = maker_.take();
  co_await taken;
  is_writing_ = true;
  const at_end written_or_not{[this] { is_writing_ = false; }};
  let_go(std::exchange(waiting_, {}), true);
  auto written = maker_.write(std::move(base), 0);
  co_return co_await written;
}

task<std::uint64_t> checkpoint_leader::make_in_memory() {
  if (memory_ == nullptr)
    throw usage_error("no checkpoints are kept in memory: start the job with --imbrex-checkpoint-memory=EVERY");
  auto turn = maker_.my_turn();
  co_await turn;
  const at_end over{[this] { maker_.end_turn(); }};
  auto taken = maker_.take();
  co_await taken;
  is_writing_ = true;
  const at_end written_or_not{[this] { is_writing_ = false; }};
  let_go(std::exchange(waiting_, {}), true);
  auto kept = maker_.keep();
  co_return co_await kept;
}

void checkpoint_leader::reached(const point& p, int signal) {
  signal_ = std::max(signal_, signal);
  const bool memory_is_due = to_memory_.is_due_at(p.which.array, pe_.now_ns());
  const bool files_are_due = to_files_.is_due_at(p.which.array, pe_.now_ns()) || signal_ != 0;
  const bool any = memory_is_due || files_are_due || next_pes_ != 0;
  const bool cannot_wait = signal_ != 0 || next_pes_ != 0;
  if (!any || (is_writing_ && !cannot_wait)) return let_go({p}, false);
  due_.in_files |= files_are_due;
  waiting_.push_back(p);
  if (waiting_.size() == 1)
    entry_activity::start(pe_, nullptr, "making a checkpoint", make_at_points(), reply_to{},
                          &detail::conclude_entry<void>);
}

void checkpoint_leader::let_go(const std::vector<point>& points, bool made) {
  for (const point& p : points) {
    if (p.root == no_pe) {
      send_reply<bool>(pe_, p.program, bool(made));
    } else {
      pe_.send(p.root, point_over{p.which, made}, priorities::communication);
    }
  }
}

task<> checkpoint_leader::store(wanted what) {
  std::uint64_t number = 0;
  if (what.in_memory) {
    auto kept = maker_.keep();
    number = co_await kept;
    to_memory_.made(pe_.now_ns());
  }
  if (!what.in_files) co_return;
  auto written = maker_.write(folder_, number);
  co_await written;
}

task<> checkpoint_leader::begin_again_with(int pes) {
  auto told = on_all_pes(next_pes_request{pes});
  co_await told;
  pe_.exit_job(begin_again, false);
}

task<> checkpoint_leader::forget_memory() {
  auto forgotten = on_all_pes(forget_request{});
  co_await forgotten;
}

// The next point may be a better one; whoever has sent SIGTERM does not wait for long.
void checkpoint_leader::failed(const error& e, int asked_by) {
  constexpr std::int64_t longest_ns = 5'000'000'000;
  if (last_failure_ != e.what()) log_warning(fmt::format("no checkpoint was made, the job goes on: {}", e.what()));
  last_failure_ = e.what();
  if (asked_by != SIGTERM) return;
  const std::int64_t now = pe_.now_ns();
  if (asked_to_end_ns_ < 0) asked_to_end_ns_ = now;
  if (now - asked_to_end_ns_ < longest_ns) {
    signal_ = SIGTERM;
  } else {
    log_warning(
        fmt::format("the job ends by a signal (SIGTERM); no checkpoint could be made in 5 s, what there is of "
                    "earlier ones is in {}",
                    folder_));
    pe_.exit_job(128 + SIGTERM, false);
  }
}

// What fails here is no failure of the program: it goes on, and tries again at a later point.
task<> checkpoint_leader::make_at_points() {
  auto turn = maker_.my_turn();
  co_await turn;
  const at_end over{[this] { maker_.end_turn(); }};
  if (waiting_.empty()) co_return;  // `make` has made one meanwhile
  std::exception_ptr failure;
  try {
    auto taken = maker_.take();
    co_await taken;
  } catch (const error&) {
    failure = std::current_exception();
  }
  // What is taken for files is kept in memory, too: it is the newest then.
  wanted what = std::exchange(due_, {});
  what.pes = std::exchange(next_pes_, 0);
  what.in_memory = to_memory_.is_on() || what.pes != 0;
  to_memory_.taken();
  if (what.in_files) to_files_.taken();
  const int signal = std::exchange(signal_, 0);
  const std::vector<point> points = std::exchange(waiting_, {});
  is_writing_ = true;
  const at_end written_or_not{[this] { is_writing_ = false; }};
  const bool goes_on_here = signal != SIGTERM && what.pes == 0;
  if (goes_on_here || failure) let_go(points, failure == nullptr);
  if (!failure) {
    try {
      auto stored = store(what);
      co_await stored;
    } catch (const error&) {
      failure = std::current_exception();
      if (!goes_on_here) let_go(points, false);
    }
  }
  to_memory_.made(pe_.now_ns());
  if (what.in_files) to_files_.made(pe_.now_ns());
  if (failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const error& e) {
      failed(e, signal);
    }
    co_return;
  }
  last_failure_.clear();
  if (signal == SIGTERM) {
    log_warning(fmt::format("the job ends by a signal (SIGTERM); its newest checkpoint is in {}", folder_));
    pe_.exit_job(128 + SIGTERM, false);
  } else if (what.pes != 0) {
    auto again = begin_again_with(what.pes);
    co_await again;
  }
}

}  // namespace imbrex
