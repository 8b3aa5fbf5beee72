#include "imbrex/hetero/graph/commuting.h"

#include <new>

#include "imbrex/base/memory/slab.h"
#include "imbrex/hetero/coherence/slices.h"
#include "imbrex/hetero/graph/dependency.h"

namespace imbrex {

bool joins_commuting(const task_access& a) {
  const hetero_data& d = *a.data;
  return commutes(a.mode) && d.commuting != nullptr && d.commuting->first != nullptr && d.last_use == d.last_write &&
         commutes(d.last_write->mode);
}

void note_commuting(task_access& a) {
  hetero_data& d = *a.data;
  if (!joins_commuting(a)) {
    if (d.commuting == nullptr) d.commuting = new (slab::allocate(sizeof(commuting_uses))) commuting_uses;
    d.commuting->first = &a;
  }
  a.by().takes_turns = true;
}

void forget_commuting(const task_access& a) {
  commuting_uses& c = *a.data->commuting;
  if (c.first != &a) return;
  c.first = a.after != nullptr && commutes(a.after->mode) ? a.after : nullptr;
}

namespace {

void wait_for_turn(commuting_uses& c, task_node& t) {
  task_node* before = c.last_waiting;
  if (before != nullptr && before->wishes.priority < t.wishes.priority) {
    before = nullptr;
    for (task_node* at = c.first_waiting; at->wishes.priority >= t.wishes.priority; at = at->next) before = at;
  }
  task_node*& link = before != nullptr ? before->next : c.first_waiting;
  t.next = link;
  link = &t;
  if (t.next == nullptr) c.last_waiting = &t;
}

}  // namespace

bool take_turn(task_node& t, unseen_failures& failures) {
  for (const task_access& a : t.uses()) {
    if (!commutes(a.mode)) continue;
    commuting_uses& c = *a.data->commuting;
    if (c.has_turn == nullptr || c.has_turn == &t) continue;
    wait_for_turn(c, t);
    return false;
  }
  for (const task_access& a : t.uses()) {
    if (!commutes(a.mode)) continue;
    a.data->commuting->has_turn = &t;
    const hetero_data& d = *a.data;
    if (const auto why = d.family != nullptr ? d.family->failure_of(d) : d.failure; why != nullptr) {
      poison(t, why, failures);
    }
  }
  return true;
}

const task_node* whose_turn(const task_node& t) {
  for (int i = 0; i < t.num_accesses; ++i) {
    const task_access& a = t.accesses[i];
    if (!commutes(a.mode) || a.data->commuting == nullptr) continue;
    const task_node* const holder = a.data->commuting->has_turn;
    if (holder != nullptr && holder != &t) return holder;
  }
  return nullptr;
}

task_node* next_in_turn(commuting_uses& c) {
  task_node* const t = c.first_waiting;
  if (t == nullptr) return nullptr;
  c.first_waiting = t->next;
  if (c.first_waiting == nullptr) c.last_waiting = nullptr;
  return t;
}

}  // namespace imbrex
