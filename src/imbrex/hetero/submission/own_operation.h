#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "imbrex/device/kernel/kernel.h"
#include "imbrex/hetero/submission/untyped_task.h"

/// Reductions into objects by an operation of the program's own, where only that knows what the bytes are: for other
/// languages. C++ has `reduce(x, op, identity)` (reduction.h).
namespace imbrex {

/// How two parts of an object become one: associative and commutative, element by element or with all of them at hand.
/// Does not change; destroyed on any PE.
class own_operation {
 public:
  virtual ~own_operation() = default;
  /// What leaves as it is what it is combined with: an element, or some, which fill a part one behind the other.
  virtual std::span<const std::byte> identity() const = 0;
  /// Where two parts can be combined: bits of `task_node::on_the_host` and `on_devices`.
  virtual std::uint8_t runs_on() const = 0;
  /// What one task calls, on any PE, that changes its first object, of `bytes`, by its second one.
  virtual std::function<void(const untyped_call&)> combining(std::size_t bytes) const = 0;
  /// Whether what tasks reduce by this one and by the other may come together in one part.
  virtual bool is(const own_operation& other) const { return this == &other; }
};

/// As `untyped_reduce` of numbers (untyped_reduction.h). Throws `usage_error` besides where the object is not filled by
/// the identity.
untyped_use untyped_reduce(hetero_data& into, std::shared_ptr<const own_operation> op, std::size_t parts = 8);

/// Makes the only object of a task, of `bytes`, what a part of `op` is at first.
std::function<void(const untyped_call&)> untyped_identity(std::shared_ptr<const own_operation> op, std::size_t bytes);

/// For `own_operation::combining`: by a kernel `void(int n, T* into, const T* from)`, on the host or a device. The
/// kernel lives until the task is over. Throws `usage_error` for one with other parameters, or for groups of one size,
/// and where the object is not a number of such elements.
std::function<void(const untyped_call&)> combining_by(const kernel_source& k, std::size_t bytes);

}  // namespace imbrex
