#pragma once

#include <string>

#include "imbrex/hetero/task_node.h"

namespace imbrex {

/// How far a task is, and what it waits for, as reports say it: "waiting behind task 'first', which is waiting: a view
/// of its argument 0, 40 bytes, is held". For the domain's PE, when something has gone wrong: it looks at all tasks.
std::string how_far(const task_node& t);
/// Whether somebody holds a view by which bytes of `d` may be written. As `how_far`.
bool is_held_to_write(const hetero_data& d);
/// Whether somebody holds a view that has to end before the task can begin. As `how_far`.
bool waits_for_view(const task_node& t);

}  // namespace imbrex
