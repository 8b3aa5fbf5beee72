#pragma once

#include <imbrex/imbrex.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "value.h"

namespace imbrex_python {

/// \name What belongs to one PE of one job, though Python's variables go anywhere and outlive it
///@{
/// The job that runs, or ran last.
std::uint64_t job_number();
/// A job is over: what was left for its PEs is forgotten.
void job_is_over();
/// `f` is run by that PE when it next comes here; never, when its job ends before.
void leave_to(ix::executor* home, std::function<void()> f);
/// Runs what was left to the calling PE.
void see_to_what_was_left();

/// What names something of one job, such as a proxy: whoever unpickles it does so in the job that it was sent in.
template <class T>
struct of_this_job : T {
  of_this_job() = default;
  of_this_job(T v) : T(std::move(v)) {}  // NOLINT(google-explicit-constructor)
  /// Throws `usage_error`, calling it `what`, after the job, and where no PE runs.
  const T& here(const char* what) const {
    check_in_job();
    if (job_ != job_number()) throw ix::usage_error(std::string(what) + " belongs to a job that has ended");
    return *this;
  }

 private:
  std::uint64_t job_ = job_number();
};
/// What Python has of the runtime.
struct runtime_pointer {
  ix::runtime* rt = nullptr;
};
class runtime_handle : public of_this_job<runtime_pointer> {
 public:
  explicit runtime_handle(ix::runtime& of) : of_this_job(runtime_pointer{&of}) {}
  ix::runtime& here() const { return *of_this_job::here("this runtime").rt; }
};

/// What other PEs of the process may do with a `T` of one of them: nothing, if no more is said.
template <class T>
struct of_all_pes {
  /// Whether the calling PE may use it as its own.
  static bool is_usable_here(const T&) { return false; }
};

/// A `T` that only its PE touches, and that is destroyed there, whatever thread gives up the last reference; when the
/// job has ended, not at all: its memory remains. Or one of all PEs of the process (`of_all_pes`).
template <class T>
class of_home {
 public:
  /// Of the calling PE.
  explicit of_home(T v) : object_(new T(std::move(v))), home_(ix::executor::current()), job_(job_number()) {}
  of_home(const of_home&) = delete;
  of_home& operator=(const of_home&) = delete;
  ~of_home() { give_up(); }

  /// Throws `usage_error`, calling it `what`, on another PE, after the job, and when it has been given up.
  T& here(const char* what) const {
    check_in_job();
    T* const object = object_.load(std::memory_order_relaxed);  // given up by this PE, or left to it
    if (object == nullptr) throw ix::usage_error(std::string(what) + " has been released");
    if (job_ != job_number()) throw ix::usage_error(std::string(what) + " belongs to a job that has ended");
    if (home_ != ix::executor::current() && !of_all_pes<T>::is_usable_here(*object)) {
      throw ix::usage_error(std::string(what) + " belongs to another PE: it is used by chares of the PE that made it");
    }
    return *object;
  }
  void give_up() {
    T* const v = object_.exchange(nullptr);
    if (v == nullptr || job_ != job_number()) return;
    // What a task of another PE gives up here would count as that PE's doing.
    const bool is_away = ix::task_journal::of_task_away() != nullptr;
    if (!is_away && (ix::executor::current() == home_ || of_all_pes<T>::is_usable_here(*v))) {
      delete v;
    } else {
      leave_to(home_, [v] { delete v; });
    }
  }

 private:
  std::atomic<T*> object_;  // other threads of Python may release it at the same time
  ix::executor* home_;
  std::uint64_t job_;
};
///@}

}  // namespace imbrex_python
