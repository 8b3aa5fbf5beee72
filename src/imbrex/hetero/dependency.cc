#include "imbrex/hetero/dependency.h"

#include <new>

#include "imbrex/base/slab.h"

namespace imbrex {

namespace {

void add_edge(task_edge* e, task_node& later, task_node& earlier) {
  e->to = &later;
  e->next = earlier.successors;
  earlier.successors = e;
  ++later.num_blockers;
}

task_edge* new_edge() {
  auto* e = new (slab::allocate(sizeof(task_edge))) task_edge;
  e->from_slab = true;
  return e;
}

void wait_for(task_access& later, const task_access& earlier) {
  if (earlier.by == later.by) return;
  task_edge* const e = later.edge.to == nullptr ? &later.edge : new_edge();
  e->poisons = reads(later.mode) && writes(earlier.mode);
  add_edge(e, *later.by, *earlier.by);
}

void queue_use(task_access& a) {
  hetero_data& d = *a.data;
  if (reads(a.mode) && d.last_write == nullptr && d.failure != nullptr) {
    a.by->poisoned = true;
    a.by->failure = d.failure;
  }
  bool anybody_since = false;
  if (writes(a.mode)) {
    const task_access* r = d.last_write != nullptr ? d.last_write->after : d.first_use;
    for (; r != nullptr; r = r->after) {
      wait_for(a, *r);
      anybody_since = true;
    }
  }
  // A writer that waits for readers, waits for the writer before them as well, unless only some of them are left.
  if (d.last_write != nullptr && (!anybody_since || reads(a.mode))) wait_for(a, *d.last_write);
  a.before = d.last_use;
  a.after = nullptr;
  (d.last_use != nullptr ? d.last_use->after : d.first_use) = &a;
  d.last_use = &a;
  a.queued = true;
  if (writes(a.mode)) {
    d.last_write = &a;
    d.defined = true;
  }
}

void unqueue_use(task_access& a) {
  if (!a.queued) return;
  a.queued = false;
  hetero_data& d = *a.data;
  (a.before != nullptr ? a.before->after : d.first_use) = a.after;
  (a.after != nullptr ? a.after->before : d.last_use) = a.before;
  if (d.last_write == &a) d.last_write = nullptr;
}

}  // namespace

void queue_uses(task_node& t) {
  for (task_access& a : t.uses()) queue_use(a);
}

void unqueue_uses(task_node& t) {
  for (task_access& a : t.uses()) {
    if (!a.queued) continue;
    if (writes(a.mode)) a.data->failure = t.state == task_state::failed ? t.failure : nullptr;
    unqueue_use(a);
  }
}

void order_after(task_node& later, task_node& earlier) {
  if (earlier.over()) {
    if (earlier.state != task_state::failed) return;
    later.poisoned = true;
    later.failure = earlier.failure;
    return;
  }
  if (earlier.state == task_state::issued && earlier.end.of != nullptr) {
    later.after.push_back(earlier.end);
    return;
  }
  task_edge* const e = new_edge();
  e->poisons = e->linked = true;
  add_edge(e, later, earlier);
}

void pass_on(task_node& from, const task_edge& edge) {
  if (edge.linked && from.end.of != nullptr) edge.to->after.push_back(from.end);
  if (from.state != task_state::failed || !edge.poisons) return;
  edge.to->poisoned = true;
  edge.to->failure = from.failure;
}

void free_edge(task_edge* e) {
  if (e->from_slab) {
    slab::free(e);
  } else {
    *e = {};
  }
}

}  // namespace imbrex
