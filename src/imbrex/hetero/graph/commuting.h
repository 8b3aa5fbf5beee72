#pragma once

#include "imbrex/hetero/graph/unseen_failures.h"
#include "imbrex/hetero/task_node.h"

/// Tasks that change an object in any order (`access_mode::commute`). They wait for what came before the first of them,
/// not for each other; one at a time of them has the object, from when it could be placed until it is enqueued or over.
/// For the domain's PE.
namespace imbrex {

/// Whether the last uses of its object commute, and `a`, which comes now, with them.
bool joins_commuting(const task_access& a);
/// \name As a use is put behind others, and as it goes
///@{
void note_commuting(task_access& a);
void forget_commuting(const task_access& a);
///@}

/// The task waits for no other that came before: whether it has its turn with all that it commutes on. If not, it is
/// asked again when others have had theirs. Then it fails if one of these failed.
bool take_turn(task_node& t, unseen_failures& failures);
/// Who has something that the task waits for a turn with; null: nobody.
const task_node* whose_turn(const task_node& t);
/// The next one that waits for a turn with this, which nobody has; null: nobody does.
task_node* next_in_turn(commuting_uses& c);

/// The task, which is enqueued on a device or over, has had its turn: calls `ask` for those that wait for one.
template <class F>
void end_turn(task_node& t, F ask) {
  for (const task_access& a : t.uses()) {
    commuting_uses* const c = a.data->commuting;
    if (!commutes(a.mode) || c->has_turn != &t) continue;
    c->has_turn = nullptr;
    while (c->has_turn == nullptr) {
      task_node* const next = next_in_turn(*c);
      if (next == nullptr) break;
      ask(*next);
    }
  }
}

}  // namespace imbrex
