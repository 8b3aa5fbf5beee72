// How a job ends on a PE: failures, exits, and the phases that follow the loop.
#include <cstdio>
#include <cstdlib>
#include <typeinfo>
#include <utility>

#include <fmt/format.h>

#include "imbrex/async/progress_source.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/pe/quiescence.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

namespace {
/// The job ends as it should. All exits go down the one tree of PE 0: on two trees a PE that has stopped for one exit
/// would not pass on the other, and some PE might hear of neither.
struct exit_body {
  static constexpr bool counted = false;
  pe_id root = no_pe;
  job_end end;

  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::system);
    pe.rank().end.decide(end);
    pe.stop();
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & end;
  }
};

/// To PE 0, from whom it ends for everyone.
struct exit_request {
  static constexpr bool counted = false;
  job_end end;
  void operator()(scheduler& pe) { pe.spread(exit_body{no_pe, end}, priorities::system); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & end;
  }
};

/// It ends by a failure: told by whoever failed to each rank itself, since others on the way may be lost.
struct failure_body {
  static constexpr bool counted = false;
  bool to_rank = false;
  job_end end;

  void operator()(scheduler& pe) {
    rank_context& rank = pe.rank();
    if (to_rank) {
      rank.end.decide(end);
      for (scheduler* other : rank.pes) {
        if (other != &pe) pe.send(other->id(), failure_body{false, end}, priorities::system);
      }
    }
    pe.stop();
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & to_rank & end;
  }
};

void write_report(const rank_context& rank, const std::string& report) {
  const std::string line = rank.num_ranks > 1 ? fmt::format("imbrex [rank {}]: error: {}\n", rank.rank, report)
                                              : fmt::format("imbrex: error: {}\n", report);
  std::fflush(stdout);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}
}  // namespace

void scheduler::exit_job(int code, bool failed) noexcept {
  const job_end end{failed, code};
  if (!rank_.end.decide(end)) return;
  if (failed) return tell_failure(end);
  try {
    send(0, exit_request{end}, priorities::system);
  } catch (const std::exception& e) {
    fail_job(fmt::format("the end of the job could not be told: {}", e.what()), exit_code_failed_entry);
  }
}

// A rank that cannot be told is waited for in `transport::stop`, after a failure for some seconds only.
void scheduler::tell_failure(const job_end& end) noexcept {
  for (int r = 0; r < rank_.num_ranks; ++r) {
    if (r == rank_.rank) continue;
    try {
      send(r * rank_.pes_per_rank, failure_body{true, end}, priorities::system);
    } catch (const std::exception& e) {
      write_report(rank_, fmt::format("rank {} could not be told of the end: {}", r, e.what()));
    }
  }
  for (scheduler* other : rank_.pes) send(other->id(), failure_body{false, end}, priorities::system);
}

void scheduler::fail_job(const std::string& report, int code) noexcept {
  const job_end end{true, code};
  if (!rank_.end.decide(end)) return;
  write_report(rank_, report);
  tell_failure(end);
}

namespace {
/// What an exception says.
std::string text_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const error& x) {
    return x.what();
  } catch (const std::exception& x) {
    return fmt::format("{} ({})", x.what(), detail::readable_name(typeid(x)));
  } catch (...) {
    return "an exception that is no std::exception";
  }
}
}  // namespace

void scheduler::fail_entry(std::string_view who, std::exception_ptr failure) noexcept {
  fail_job(fmt::format("{} on PE {} (rank {}) threw: {}", who, id_, rank_.rank, text_of(failure)),
           exit_code_failed_entry);
}

void scheduler::fail_main(std::exception_ptr failure) noexcept {
  int code = exit_code_failed_entry;
  try {
    std::rethrow_exception(failure);
  } catch (const remote_error&) {  // what the program has thrown on another rank is not imbrex's, as here
    code = exit_code_failed_entry;
  } catch (const error& x) {
    code = x.exit_code();
  } catch (...) {
    code = exit_code_failed_entry;
  }
  if (code == exit_code_failed_entry) return fail_entry("the main chare", std::move(failure));
  fail_job(text_of(failure), code);
}

void scheduler::fail_reading(const char* what, pe_id from, std::exception_ptr failure) noexcept {
  fail_job(fmt::format("what PE {} has sent to {} cannot be read on PE {} (rank {}): {}", from, what, id_, rank_.rank,
                       text_of(failure)),
           exit_code_failed_entry);
}

void scheduler::fail_body(std::string_view who, std::exception_ptr failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const error& x) {
    fail_job(fmt::format("{} (on PE {} of rank {})", x.what(), id_, rank_.rank), exit_code_failed_entry);
  } catch (...) {
    fail_entry(who, std::move(failure));
  }
}

void scheduler::discard_queued() {
  if (progress_source* const all = failed_devices_ != nullptr ? failed_devices_ : devices; all != nullptr)
    all->let_pass();
  bundles_.discard();
  arrivals_.discard();
  do {
    collect();
    while (work* w = next()) w->act(w, work_action::discard);
  } while (!inbox_empty());
  if (shared != nullptr) shared->discard();
  discard_waiting();
}

void scheduler::destroy_objects() {
  stopping_ = true;
  if (failed_devices_ != nullptr) devices = failed_devices_;
  constexpr std::int64_t patience_ns = 5'000'000'000;
  // By the machine's clock, whatever the PEs' is: a device takes its time.
  if (devices != nullptr && !devices->drain(rank_.end.get().failed ? machine_time().now_ns() + patience_ns : INT64_MAX))
    leave_devices();
  ended_ = nullptr;
  destroy_chares();
}

void scheduler::destroy_collections() {
  discard_queued();
  destroy_parts();
  objects.reset();
  shared.reset();
}

/// Other PEs have no handles of them any more.
void scheduler::destroy_tasks() {
  tell_failures();
  hetero.reset();
  slab::flush_returns();
}

/// Of a job that was ended before it was quiet: otherwise they have made it fail.
void scheduler::tell_failures() {
  if (rank_.end.get().failed) return;
  for (const std::string& line : describe_failures(16)) {
    std::fprintf(stderr, "imbrex: error: a task has failed, and nobody has awaited it: %s\n", line.c_str());
    rank_.end.decide({true, exit_code_failed_entry});
  }
}

void scheduler::unbind_from_this_thread() {
  slab::unbind_this_thread();
  executor::set_current(nullptr);
}

// Memory that something on a GPU may still write to cannot be given back: the process ends as it is.
void scheduler::leave_devices() {
  std::fprintf(
      stderr, "imbrex: error: what PE %d of rank %d has on its GPUs did not end within 5 s of the failure: giving up\n",
      id_, rank_.rank);
  std::fflush(nullptr);
  const int code = rank_.end.get().code;
  if (transport_ != nullptr) transport_->abort(code);
  std::_Exit(code);
}

}  // namespace imbrex
