#include "imbrex/hetero/graph/dependency.h"

#include <new>

#include "imbrex/base/memory/slab.h"
#include "imbrex/hetero/coherence/slices.h"
#include "imbrex/hetero/graph/commuting.h"

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
  if (earlier.to == later.to) return;
  task_edge* const e = later.waits ? new_edge() : &later;
  later.waits = true;
  // What slices are worth is known byte by byte when the reader is ready: the writer may have been overwritten since.
  e->poisons = reads(later.mode) && writes(earlier.mode) && later.data->family == nullptr;
  add_edge(e, later.by(), earlier.by());
}

/// For the last writer, or, if that commutes, for all that do so with it.
void wait_for_writers(task_access& a, const task_access& last) {
  wait_for(a, last);
  if (!commutes(last.mode)) return;
  for (const task_access* w = last.before; w != nullptr && commutes(w->mode); w = w->before) wait_for(a, *w);
}

/// Waits for those that use `d`: the access's own object, or a part of it, or what it is a part of.
void wait_for_uses(task_access& a, const hetero_data& d) {
  const task_access* last_write = d.last_write;
  bool anybody_since = false;
  if (writes(a.mode)) {
    const task_access* r = a.data == &d && joins_commuting(a) ? d.commuting->first->before : d.last_use;
    for (; r != nullptr && !writes(r->mode); r = r->before) {
      wait_for(a, *r);
      anybody_since = true;
    }
    last_write = r;
  }
  // A writer that waits for readers, waits for the writer before them as well, unless only some of them are left.
  if (last_write != nullptr && (!anybody_since || reads(a.mode))) wait_for_writers(a, *last_write);
}

/// `t`, which writes `d`, is enqueued or over.
void note_outcome(const task_node& t, hetero_data& d) {
  const bool failed = t.state == task_state::failed;
  if (d.family != nullptr) {
    d.family->note_written(d, failed ? t.failure() : nullptr);
  } else if (failed) {
    d.failure = t.failure();
  } else if (d.failure != nullptr) {
    d.failure = nullptr;
  }
}

/// Uses of the whole and of its slices are ordered, too.
void queue_in_family(task_access& a, hetero_data& d) {
  slice_family& f = *d.family;
  a.by().sliced = true;
  const std::uint64_t own = d.last_write != nullptr ? d.last_write->by().age : 0;
  f.for_each_overlapping(d, [&](const hetero_data& e) {
    // What was written there before the object's own last writer, that has waited for; and overwritten, if it is part.
    const bool older = e.last_write != nullptr && e.last_write->by().age < own && !writes(a.mode);
    if (!older) wait_for_uses(a, e);
  });
  if (!writes(a.mode)) return;
  f.define(d);
}

void queue_use(task_access& a, unseen_failures& failures) {
  hetero_data& d = *a.data;
  if (d.family != nullptr) {
    queue_in_family(a, d);
  } else if (reads(a.mode) && d.last_write == nullptr && d.failure != nullptr) {
    poison(a.by(), d.failure, failures);
  }
  wait_for_uses(a, d);
  if (commutes(a.mode)) [[unlikely]]
    note_commuting(a);
  a.before = d.last_use;
  a.after = nullptr;
  (d.last_use != nullptr ? d.last_use->after : d.first_use) = &a;
  d.last_use = &a;
  a.queued = true;
  if (writes(a.mode)) {
    d.last_write = &a;
    d.written_by = a.by().age;
    d.defined = true;
  }
}

void unqueue_use(task_access& a) {
  if (!a.queued) return;
  a.queued = false;
  hetero_data& d = *a.data;
  if (d.commuting != nullptr) [[unlikely]]
    forget_commuting(a);
  (a.before != nullptr ? a.before->after : d.first_use) = a.after;
  (a.after != nullptr ? a.after->before : d.last_use) = a.before;
  if (d.last_write == &a)
    d.last_write = commutes(a.mode) && a.before != nullptr && commutes(a.before->mode) ? a.before : nullptr;
}

}  // namespace

void poison(task_node& t, const std::exception_ptr& failure, unseen_failures& failures) {
  if (t.fault == task_fault::inherited) failures.join(t.failure(), failure);
  t.fault = task_fault::inherited;
  t.extras().failure = failure;
}

void queue_uses(task_node& t, unseen_failures& failures) {
  for (task_access& a : t.uses()) queue_use(a, failures);
}

void unqueue_uses(task_node& t) {
  for (task_access& a : t.uses()) {
    if (!a.queued) continue;
    if (writes(a.mode)) {
      note_outcome(t, *a.data);
    }
    unqueue_use(a);
  }
}

void order_after(task_node& later, task_node& earlier, unseen_failures& failures) {
  if (earlier.over()) {
    if (earlier.state != task_state::failed) return;
    return poison(later, earlier.failure(), failures);
  }
  if (earlier.state == task_state::issued && earlier.end().of != nullptr) {
    later.extras().after.push_back(earlier.end());
    return;
  }
  task_edge* const e = new_edge();
  e->poisons = e->linked = true;
  add_edge(e, later, earlier);
}

void pass_on(task_node& from, const task_edge& edge, unseen_failures& failures) {
  if (edge.linked && from.end().of != nullptr) edge.to->extras().after.push_back(from.end());
  if (from.state != task_state::failed || !edge.poisons) return;
  poison(*edge.to, from.failure(), failures);
}

void poison_by_worthless_bytes(task_node& t, unseen_failures& failures) {
  for (const task_access& a : t.uses()) {
    if (!reads(a.mode) || a.data->family == nullptr) continue;
    if (const std::exception_ptr failure = a.data->family->failure_of(*a.data)) poison(t, failure, failures);
  }
}

void free_edge(task_edge* e) {
  if (e->from_slab) {
    slab::free(e);
  } else {
    e->next = nullptr;  // `to` is whose use it is
  }
}

}  // namespace imbrex
