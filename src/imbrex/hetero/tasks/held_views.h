#pragma once

#include "imbrex/hetero/task_node.h"

namespace imbrex {

/// Whether somebody holds a view by which bytes of `d` may be written. For the domain's PE, when it matters little how
/// long it takes: it looks at all tasks.
bool is_held_to_write(const hetero_data& d);

}  // namespace imbrex
