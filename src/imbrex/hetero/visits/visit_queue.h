#pragma once

#include <atomic>
#include <new>
#include <utility>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/async/mpsc_queue.h"
#include "imbrex/base/memory/slab.h"

namespace imbrex {

/// Something to be done by the PE that objects and tasks belong to, for another PE or thread.
template <class F>
struct errand final : work {
  explicit errand(F f) : function(std::move(f)) { act = &perform; }
  static errand* make(F f) { return new (slab::allocate(sizeof(errand))) errand(std::move(f)); }
  static void perform(work* w, work_action action) {
    auto* const self = static_cast<errand*>(w);
    F f = std::move(self->function);
    self->~errand();
    slab::free(self);
    if (action == work_action::run) f();
  }
  F function;
};

/// What the other PEs of a process ask a PE to do with its objects and tasks. It is done in the order in which it was
/// asked for, by one PE or by several that have told each other; and before anything that the PE does with them itself
/// when it has heard from one that has asked.
class visit_queue {
 public:
  explicit visit_queue(executor& home);
  /// What is left is not done.
  ~visit_queue();
  visit_queue(const visit_queue&) = delete;
  visit_queue& operator=(const visit_queue&) = delete;

  /// Any PE of the process. `f` does not throw.
  template <class F>
  void ask(F f) {
    push(errand<F>::make(std::move(f)));
  }

  /// \name The PE whose it is
  ///@{
  bool empty() const { return queue_.empty(); }
  void do_all();
  /// Whether all PEs of the process know that there are objects of others.
  bool is_open() const { return is_open_; }
  /// ... which `w` waits for: then it is run.
  void keep_until_open(work* w) { waiting_.push_back(w); }
  bool has_waiting() const { return !waiting_.empty(); }
  void open();
  ///@}
  /// PEs that have not been told yet. Any PE.
  std::atomic<int> num_untold{0};

 private:
  struct turn : work {
    visit_queue* of = nullptr;
  };
  void push(work* w);

  executor& home_;
  mpsc_queue queue_;
  std::atomic<bool> called_{false};  // `turn_` is on its way to the PE
  turn turn_;
  bool busy_ = false;
  bool is_open_ = false;
  std::vector<work*> waiting_;
};

}  // namespace imbrex
