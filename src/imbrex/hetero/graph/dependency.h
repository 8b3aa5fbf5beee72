#pragma once

#include "imbrex/hetero/graph/unseen_failures.h"
#include "imbrex/hetero/task_node.h"

/// Which tasks wait for which: found from what they do with which objects, in order of submission (Thomadakis and
/// Chrisochoides 2024, 3.1.2); `failures` are those of the domain. A reader waits for the last writer, a writer for the
/// readers since, or for the last writer. Writers that commute, one submitted behind the other, wait for the same, and
/// who comes after them waits for all of them. Nothing is polled: whoever has let others go on counts their blockers
/// down.
namespace imbrex {

/// Puts the task's uses behind those of tasks before it; `num_blockers` says for how many it has to wait.
void queue_uses(task_node& t, unseen_failures& failures);

/// A task before it failed: it will not be run. Who sees the one failure has seen the other.
void poison(task_node& t, const std::exception_ptr& failure, unseen_failures& failures);

/// `later` has to wait for `earlier` though they share no object.
void order_after(task_node& later, task_node& earlier, unseen_failures& failures);

/// All that the task waits for is enqueued or over: it fails if it reads bytes of a slice, or of an object with slices,
/// that are worth nothing.
void poison_by_worthless_bytes(task_node& t, unseen_failures& failures);

/// The task, which is enqueued on a device or over, lets those behind it go on: calls `free` for each that has nothing
/// more to wait for, in the order of submission. What a failed task should have written is worth nothing from now on,
/// and who reads that will fail.
template <class F>
void release_successors(task_node& t, unseen_failures& failures, F free);

/// \name For `release_successors`
///@{
void unqueue_uses(task_node& t);
void pass_on(task_node& from, const task_edge& edge, unseen_failures& failures);
void free_edge(task_edge* e);
/// Taken from it; the one submitted first comes first.
inline task_edge* successors_of(task_node& t) {
  task_edge* in_order = nullptr;
  for (task_edge* e = std::exchange(t.successors, nullptr); e != nullptr;) {
    task_edge* const next = std::exchange(e->next, in_order);
    in_order = e;
    e = next;
  }
  return in_order;
}
///@}

template <class F>
void release_successors(task_node& t, unseen_failures& failures, F free) {
  unqueue_uses(t);
  task_edge* e = successors_of(t);
  while (e != nullptr) {
    task_edge* const next = e->next;
    task_node& to = *e->to;
    pass_on(t, *e, failures);
    free_edge(e);
    if (--to.num_blockers == 0) free(to);
    e = next;
  }
}

}  // namespace imbrex
