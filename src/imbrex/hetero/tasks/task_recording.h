#pragma once

#include <span>

#include "imbrex/hetero/task_node.h"
#include "imbrex/hetero/tasks/hetero_task.h"

namespace imbrex {

/// What keeps tasks that are submitted, instead of running them: a window. For the PE of the domain.
class task_recording {
 public:
  /// Takes over a node with its accesses, which runs behind these of its tasks.
  virtual void keep(task_node& t, std::span<const hetero_task> after) = 0;
  virtual bool has(const task_node& t) const = 0;
  /// Whether one of its tasks writes all of an object.
  virtual bool writes_to(const hetero_data& d) const = 0;

 protected:
  ~task_recording() = default;
};

}  // namespace imbrex
