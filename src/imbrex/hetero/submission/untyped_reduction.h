#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "imbrex/hetero/submission/element_operation.h"
#include "imbrex/hetero/submission/untyped_task.h"

/// Reductions into objects (reduction.h) of numbers whose type is known when the program runs.
namespace imbrex {

enum class number_type { int32, uint32, int64, uint64, float32, float64 };
std::size_t bytes_of(number_type t);

/// What an untyped task uses that reduces into `into`, an object of such numbers, by `op`: the part that it adds to,
/// for the next `submit_untyped` and no later one. `parts`: of how many parts by turns. On the PE of the object's
/// domain. Throws `usage_error` elsewhere, for no parts, for an operation of bits on numbers that are not whole, and
/// where the object is not a number of such numbers.
untyped_use untyped_reduce(hetero_data& into, number_type numbers, element_operation op, std::size_t parts = 8);

/// What brings two parts of such a reduction together: a function for `submit_untyped` that changes its first object,
/// of `bytes`, by its second one, on the host or a device.
std::function<void(const untyped_call&)> untyped_combining(number_type numbers, element_operation op,
                                                           std::size_t bytes);
/// And that makes the first one like the second.
std::function<void(const untyped_call&)> untyped_taking(std::size_t bytes);
/// Where both run.
std::uint8_t untyped_combining_runs_on();

}  // namespace imbrex
