#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "imbrex/async/executor.h"
#include "imbrex/hetero/coherence/box.h"
#include "imbrex/hetero/hetero_data.h"
#include "imbrex/hetero/visits/visit_queue.h"

namespace imbrex {

class hetero_domain;
class hetero_task;

/// A part of an object: bytes of a row, or a box of an object with rows and planes.
struct part_of_object {
  box where{};
  std::uint64_t row_bytes = 0;  ///< 0: the object is one row
  std::uint64_t num_rows = 0;   ///< of a plane
  std::size_t element_bytes = 1;
};

/// What somebody does with objects and tasks whose PE runs another thread: handles that are copied and given up, parts,
/// tasks that are submitted. That PE does the same, in the same order. Either it is a task that was taken to another
/// PE: then this happens when the task comes home, before it is over. Or a PE visits the objects of another one of its
/// process: then at once (`visit_queue`). For the thread that does it.
class task_journal {
 public:
  /// Of a task of that domain.
  explicit task_journal(hetero_domain& home) : home_(&home) {}
  task_journal(task_journal&& other) noexcept
      : home_(other.home_), first_(std::exchange(other.first_, nullptr)), last_(other.last_) {}
  task_journal& operator=(task_journal&&) = delete;
  /// What has not been replayed is dropped.
  ~task_journal();
  /// Of PEs that use objects of other PEs besides their own: `executor::visits`.
  static task_journal& of_visitors() { return visitors_; }

  /// Of the calling thread; null: it does nothing with objects of other PEs.
  static task_journal* current() { return executor::journal(); }
  /// Of the task of another PE that it runs; null: it runs none.
  static task_journal* of_task_away() {
    task_journal* const j = current();
    return j != nullptr && j->home_ != nullptr ? j : nullptr;
  }
  /// Whether the calling thread may use an object or task of that domain as if it were alone.
  static bool is_near(const hetero_domain* d) {
    const task_journal* const j = current();
    return j == nullptr || j->knows_near(d);
  }
  hetero_domain& home() const { return *home_; }
  bool empty() const { return first_ == nullptr; }

  /// While it lives, the calling thread's deeds go to this journal.
  class scope {
   public:
    explicit scope(task_journal& j) : before_(executor::journal()) { executor::set_journal(&j); }
    ~scope() { executor::set_journal(before_); }
    scope(const scope&) = delete;

   private:
    task_journal* before_;
  };

  /// Done by the domain's PE: when the task is home, or now if that is this PE, or soon.
  template <class F>
  void have_done(hetero_domain& by, F f) {
    if (home_ == &by) return keep(errand<F>::make(std::move(f)));
    if (knows_near(&by)) return f();
    visits_of(by).ask(std::move(f));
  }

  /// \name Handles, parts and tasks
  ///@{
  void hold(hetero_data& d);
  void give_up(hetero_data& d);
  void hold(task_node& t);
  void give_up(task_node& t);
  void evict(hetero_data& d);
  /// Throws `usage_error` for what can be seen from here.
  void submit(hetero_domain& to, task_node& t, std::span<const hetero_task> after);
  /// What stands for a part of an object: the part itself is found or made at home.
  hetero_data* part(hetero_data& of, const part_of_object& which);
  /// What a handle's object is, as far as this thread may know.
  hetero_data* itself(hetero_data& d) const { return knows_near(d.domain) ? d.itself() : &d; }
  ///@}

  /// At home, once. Throws what the first submission that is refused throws, after all has been done.
  void replay();

 private:
  constexpr task_journal() = default;
  bool knows_near(const hetero_domain* d) const;
  bool can_reach(const hetero_domain& d) const;
  static visit_queue& visits_of(hetero_domain& d);
  void keep(work* w);
  void submit_there(hetero_domain& to, task_node& t, std::span<const hetero_task> after);

  hetero_domain* home_ = nullptr;  // null: of visitors
  work* first_ = nullptr;          // errands
  work* last_ = nullptr;

  static task_journal visitors_;
};

}  // namespace imbrex
