#pragma once

#include <string>

#include "imbrex/hetero/coherence/place.h"
#include "imbrex/hetero/task_node.h"

/// Where a task may run: what it asks for, and what fits there. For the domain's PE.
namespace imbrex {

/// "task 'update', the 3. to be submitted", for errors.
std::string text(const task_node& t);
/// Whether the task can run on a place of this kind, and asks for no other.
bool wanted(const task_node& t, const place& p);

}  // namespace imbrex
