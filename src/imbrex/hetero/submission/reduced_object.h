#pragma once

#include <span>

#include "imbrex/hetero/graph/task_name.h"

namespace imbrex {

struct hetero_data;

/// An object among a task's arguments.
struct used_object {
  hetero_data* data = nullptr;
  bool is_reduced = false;  ///< the task reduces into it
};

/// Throws `usage_error` where a task reduces into an object and uses it, or what has bytes in common with it, by
/// another argument: what it adds is apart from the object, and would be lost. On the PE of the objects.
void check_reduced_objects(const task_name& task, std::span<const used_object> uses);

namespace detail {

/// Whether an argument says that the task reduces into its object.
template <class A>
constexpr bool reduces = false;

}  // namespace detail

}  // namespace imbrex
