#include "imbrex/checkpoint/live/checkpoint_maker.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "imbrex/async/behind.h"
#include "imbrex/base/log.h"
#include "imbrex/checkpoint/live/checkpoint_requests.h"
#include "imbrex/object/program_digest.h"
#include "imbrex/pe/quiescence_wait.h"
#include "imbrex/pe/reply_impl.h"

namespace imbrex {

namespace {

/// A coroutine that waits until another checkpoint has been made; no operation, for that one waits for quiescence.
struct turn_wait : reply_awaiter<void> {
  explicit turn_wait(std::vector<reply_to>& line) : line_(line) {}
  void await_suspend(std::coroutine_handle<> h) {
    line_.push_back(expect(h, [](const waiter*) { return std::string("another checkpoint to be made"); }));
  }
  void await_resume() { take(); }

 private:
  std::vector<reply_to>& line_;
};

}  // namespace

task<> checkpoint_maker::my_turn() {
  while (running_) {
    turn_wait turn(next_turns_);
    co_await turn;
  }
  running_ = true;
}

void checkpoint_maker::end_turn() {
  running_ = false;
  for (const reply_to& next : std::exchange(next_turns_, {})) send_reply<void>(pe_, next, std::monostate{});
}

task<> checkpoint_maker::take_everywhere() {
  if (!save_program) {
    throw usage_error(
        "this program cannot be restarted, and so makes no checkpoints: start it as a class that has start, restart "
        "and serialize, by imbrex::run<program>(argc, argv)");
  }
  const std::int64_t began = pe_.now_ns();
  quiescence_wait quiet{.before_others = true};
  co_await quiet;
  const std::int64_t quiet_at = pe_.now_ns();
  auto taken = on_all_pes(take_request{});
  co_await taken;
  quiet_in_ns_ = quiet_at - began;
  taken_in_ns_ = pe_.now_ns() - quiet_at;
}

task<> checkpoint_maker::take() {
  std::exception_ptr failure;
  try {
    auto taken = take_everywhere();
    co_await taken;
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  auto dropped = on_all_pes(drop_request{});
  co_await dropped;
  std::rethrow_exception(failure);
}

snapshot_facts checkpoint_maker::facts_of_job() const {
  snapshot_facts facts;
  facts.program = program_digest();
  const rank_context& rank = pe_.rank();
  facts.shape = {rank.num_ranks, rank.pes_per_rank, static_cast<std::int32_t>(pe_.gpus.size())};
  facts.kinds = record_kind_names();
  return facts;
}

namespace {
constexpr double ms = 1e-6;

std::uint64_t bytes_of(const std::vector<rank_file_facts>& files) {
  std::uint64_t bytes = 0;
  for (const rank_file_facts& f : files) bytes += f.bytes;
  return bytes;
}
}  // namespace

task<std::string> checkpoint_maker::write(std::string base, std::uint64_t number) {
  const std::int64_t began = pe_.now_ns();
  partial_checkpoint partial(std::move(base), &claim_);
  auto written = on_all_pes(write_request{partial.folder(), number});
  std::vector<rank_file_facts> files = co_await written;
  std::erase_if(files, [](const rank_file_facts& f) { return f.rank < 0; });
  const std::uint64_t bytes = bytes_of(files);
  std::string path;
  auto committed = behind([&] { path = partial.commit(facts_of_job(), std::move(files), kept_in_files_); });
  co_await committed;
  log_info(fmt::format(
      "checkpoint {} is whole: {:.3f} GB, all was quiet in {:.3f} ms, taken in {:.3f} ms, written in {:.1f} ms", path,
      static_cast<double>(bytes) * 1e-9, static_cast<double>(quiet_in_ns_) * ms, static_cast<double>(taken_in_ns_) * ms,
      static_cast<double>(pe_.now_ns() - began) * ms));
  co_return path;
}

task<std::uint64_t> checkpoint_maker::keep() {
  const std::int64_t began = pe_.now_ns();
  // A rank that was a spare one has none of those that the others have.
  const std::uint64_t number = std::max(memory_->store.largest_number(), memory_->plan.number) + 1;
  std::exception_ptr failure;
  std::uint64_t bytes = 0;
  try {
    auto kept = on_all_pes(keep_request{number, facts_of_job()});
    std::vector<rank_file_facts> files = co_await kept;
    std::erase_if(files, [](const rank_file_facts& f) { return f.rank < 0; });
    std::ranges::sort(files, {}, &rank_file_facts::rank);
    bytes = bytes_of(files);
    auto is_safe = on_all_pes(protect_request{number, std::move(files)});
    co_await is_safe;
  } catch (...) {
    failure = std::current_exception();
  }
  auto told = on_all_pes(commit_request{number, failure == nullptr});
  co_await told;
  if (failure) std::rethrow_exception(failure);
  log_info(fmt::format(
      "checkpoint {} is in memory: {:.3f} GB, all was quiet in {:.3f} ms, taken in {:.3f} ms, kept in {:.1f} ms",
      number, static_cast<double>(bytes) * 1e-9, static_cast<double>(quiet_in_ns_) * ms,
      static_cast<double>(taken_in_ns_) * ms, static_cast<double>(pe_.now_ns() - began) * ms));
  co_return number;
}

}  // namespace imbrex
