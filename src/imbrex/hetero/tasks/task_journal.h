#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "imbrex/hetero/hetero_data.h"

namespace imbrex {

class hetero_domain;
class hetero_task;

/// What a task that runs on another PE than its own does with objects and tasks: handles that it copies and gives up,
/// slices, tasks that it submits. Its own PE does the same, in the same order, when the task comes home; there these
/// tasks are submitted before the task itself is over. For the thread that runs the task, then for the own PE's.
class task_journal {
 public:
  explicit task_journal(hetero_domain& home) : home_(&home) {}

  /// Of the task of another PE that the calling thread runs; null: it runs none.
  static task_journal* current() { return current_; }
  hetero_domain& home() const { return *home_; }
  bool empty() const { return deeds_.empty(); }

  /// While it lives, the calling thread's deeds go to this journal.
  class scope {
   public:
    explicit scope(task_journal& j) { current_ = &j; }
    ~scope() { current_ = nullptr; }
    scope(const scope&) = delete;
  };

  /// \name The thread that runs the task
  ///@{
  void hold(hetero_data& d) { deeds_.push_back({deed::kind::hold_object, &d}); }
  void give_up(hetero_data& d) { deeds_.push_back({deed::kind::give_up_object, &d}); }
  void hold(task_node& t) { deeds_.push_back({deed::kind::hold_task, nullptr, &t}); }
  void give_up(task_node& t) { deeds_.push_back({deed::kind::give_up_task, nullptr, &t}); }
  void evict(hetero_data& d) { deeds_.push_back({deed::kind::evict, &d}); }
  void submit(task_node& t, std::span<const hetero_task> after);
  /// What will stand for a slice: the slice itself is found or made at home.
  hetero_data* slice(hetero_data& of, std::uint64_t offset, std::uint64_t bytes, std::size_t element_bytes);
  ///@}

  /// At home, once. Throws what the first submission that is refused throws, after all has been done.
  void replay();

 private:
  struct deed {
    enum class kind { hold_object, give_up_object, hold_task, give_up_task, evict, submit, slice } what;
    hetero_data* data = nullptr;
    task_node* task = nullptr;
    std::uint32_t num_after = 0;  // of `submit`: so many of `after_`
    hetero_data* of = nullptr;    // of `slice`
  };
  void redo(const deed& d, std::span<task_node* const> after);

  hetero_domain* home_;
  std::vector<deed> deeds_;
  std::vector<task_node*> after_;

  static thread_local constinit task_journal* current_ __attribute__((tls_model("initial-exec")));
};

}  // namespace imbrex
