// How a rank ends: its PEs, phase by phase; what the ranks agree on; what is written then.
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "imbrex/base/clock.h"
#include "imbrex/base/serialize.h"
#include "imbrex/comm/rank_lost.h"
#include "imbrex/runtime/rank/rank_run.h"
#include "imbrex/trace/trace_file.h"

namespace imbrex::detail {

namespace {
constexpr std::int64_t patience_ns = 5'000'000'000;  // with a PE that does not come back after a failure
}  // namespace

/// PE i, by its own thread.
void rank_run::end_on_thread(std::size_t i) {
  scheduler& pe = *pes_[i];
  if (i == 0 && memory_ != nullptr) memory_->stopped_at_ns = now_ns();
  wait_for_stop();
  if (i == 0) end_ = agree_on_end();
  report_times(i);
  meet();
  // One at a time: an element on its way to a PE ends there with all that it has, and memory that it has lent may be on
  // its way home to another one.
  for (std::size_t k = 0; k < pes_.size(); ++k) {
    if (k == i) pe.discard_queued();
    meet();
  }
  pe.destroy_objects();
  meet();
  pe.destroy_collections();
  meet();
  pe.destroy_tasks();
  meet();
  pe.unbind_from_this_thread();
  meet();
}

void rank_run::end_all_on_this_thread() {
  if (memory_ != nullptr) memory_->stopped_at_ns = now_ns();
  end_ = agree_on_end();
  for (std::size_t i = 0; i < pes_.size(); ++i) report_times(i);
  for (const auto phase : {&scheduler::discard_queued, &scheduler::destroy_objects, &scheduler::destroy_collections,
                           &scheduler::destroy_tasks}) {
    for (std::size_t i = 0; i < pes_.size(); ++i) {
      become(i);
      (pes_[i].get()->*phase)();
    }
  }
  if (driver_ != nullptr) {
    executor::set_current(nullptr);
  } else {
    pes_[0]->unbind_from_this_thread();
  }
}

void rank_run::report_times(std::size_t i) {
  if (times_.empty()) return;
  const std::string line = fmt::format("imbrex: PE {}: {}\n", pes_[i]->id(),
                                       times_[i]->describe(static_cast<std::size_t>(options_.busiest_elements)));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

job_end rank_run::agree_on_end() {
  const job_end mine = context_.end.get();
  if (context_.transport == nullptr) return mine;
  try {
    return context_.transport->stop(mine);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "imbrex: error: %s\n", e.what());
    return {true, mine.code != 0 ? mine.code : 1};
  }
}

// All PEs of the rank, phase by phase.
void rank_run::meet() {
  const int n = agreed_.plan.pes;
  const int mine = arrived_.fetch_add(1, std::memory_order_acq_rel);
  const int all = (mine / n + 1) * n;
  while (arrived_.load(std::memory_order_acquire) < all) sched_yield();
}

// As `meet`; but after a failure a PE may be stuck in a user's endless loop.
void rank_run::wait_for_stop() {
  const int n = agreed_.plan.pes;
  const int mine = arrived_.fetch_add(1, std::memory_order_acq_rel);
  const int all = (mine / n + 1) * n;
  const std::int64_t start = now_ns();
  while (arrived_.load(std::memory_order_acquire) < all) {
    if (now_ns() - start < 1'000'000) {
      sched_yield();
    } else {
      usleep(100);
    }
    const job_end end = context_.end.get();
    if (!end.failed || now_ns() - start < patience_ns) continue;
    std::fprintf(stderr, "imbrex: error: a PE of rank %d did not come back within 5 s of the failure: giving up\n",
                 context_.rank);
    std::fflush(nullptr);
    if (context_.transport != nullptr) context_.transport->abort(end.code);
    std::_Exit(end.code);
  }
}

// False when rank 0 could not write the file.
bool rank_run::write_trace() {
  if (!recorder_) return true;
  if (devices_ != nullptr) devices_->finish_trace();
  std::optional<trace_file> file;
  const auto try_to = [](auto&& f) {
    try {
      f();
      return true;
    } catch (const error& e) {
      std::fprintf(stderr, "imbrex: error: %s\n", e.what());
      return false;
    }
  };
  bool good = context_.rank != 0 || try_to([&] { file.emplace(options_.trace); });
  const auto add = [&file](std::vector<std::byte> bytes) {
    if (file) file->add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  const std::string text = recorder_->json_fragment();
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  std::vector<std::byte> mine(begin, begin + text.size());
  if (context_.transport != nullptr) {
    context_.transport->collect(std::move(mine), add);
  } else {
    add(std::move(mine));
  }
  if (file)
    good = try_to([&] { file->finish(context_.num_ranks, traced_ranks(options_, context_.num_ranks)); }) && good;
  return good;
}

// Of a job of several ranks that has failed: others may not be there any more to gather from.
void rank_run::write_own_trace() noexcept {
  if (!recorder_ || !is_traced(options_, context_.rank, context_.num_ranks)) return;
  try {
    const std::filesystem::path whole(options_.trace);
    std::filesystem::path mine = whole;
    mine.replace_filename(fmt::format("{}.rank{}{}", whole.stem().string(), context_.rank, whole.extension().string()));
    trace_file file(mine.string());
    file.add(recorder_->json_fragment());
    file.finish(context_.num_ranks, 1);
    const std::string line =
        fmt::format("imbrex: the job has failed: what rank {} had traced is in {}\n", context_.rank, mine.string());
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "imbrex: error: %s\n", failure.what());
  }
}

// Rank 0 writes what all have learnt; false when it could not.
bool rank_run::write_costs() {
  if (costs_ == nullptr) return true;
  std::vector<std::string> news{costs_->news()};
  if (context_.transport != nullptr) {
    const auto all = context_.transport->all_gather(to_bytes(news[0]));
    news.clear();
    for (const auto& bytes : all) from_bytes(bytes, news.emplace_back());
  }
  if (context_.rank != 0) return true;
  try {
    costs_->write(news);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "imbrex: error: %s\n", e.what());
    return false;
  }
  return true;
}

// What ranks gather at the end they gather by what they agreed on, not by what each of them saw.
int rank_run::code_after_reports() {
  const job_end end = agreed_end(end_, context_.end.get());
  if (end.code == begin_again) return begin_again;
  if (end_.failed && context_.transport != nullptr) {
    write_own_trace();
    return end.code;
  }
  bool written = write_trace();
  if (!end_.failed) written = write_costs() && written;
  if (context_.transport != nullptr && (recorder_ != nullptr || costs_ != nullptr))
    from_bytes(context_.transport->all_gather(to_bytes(written))[0], written);
  if (guards_.found_damage() && end.code == 0) return exit_code_failed_entry;
  return written || end.code != 0 ? end.code : 1;
}

}  // namespace imbrex::detail
