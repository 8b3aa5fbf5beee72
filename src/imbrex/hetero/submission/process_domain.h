#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>

#include "imbrex/hetero/submission/hetero_object.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/visits/far_wait.h"

/// Objects that all PEs of a process use.
namespace imbrex {

/// `imbrex::hetero_domain& all = co_await imbrex::process_domain()`: the domain of the process's first PE, whose
/// objects and tasks all PEs of the process may use from then on as they use their own, from coroutines, entry methods
/// and tasks:
///
///     imbrex::hetero_object<double> x(all, n);                       // on whatever PE
///     imbrex::hetero_task t = imbrex::submit({}, scale, x, 2.0);     // to the PE that x belongs to
///     co_await t;
///
/// Tasks are in the order in which they were submitted, on one PE; between PEs in the order that messages, awaited
/// tasks and the like say: a task that a chare submits after a message came is behind those that its sender had
/// submitted. They run on whatever PE, GPU or OpenCL device of the process is free. What `submit` would throw is the
/// task's failure when it was submitted to another PE. Windows are recorded, reductions submitted, and objects sent in
/// messages or exposed, by the first PE alone; `object_reference` takes a handle to another PE. The domain lives until
/// the job ends. Throws `usage_error` where there is no PE.
class [[nodiscard("co_await it")]] process_domain : waiter {
 public:
  process_domain() = default;
  process_domain(const process_domain&) = delete;

  ~process_domain();

  bool await_ready();
  void await_suspend(std::coroutine_handle<> h);
  hetero_domain& await_resume();

 private:
  struct request;

  hetero_domain* domain_ = nullptr;
  request* asked_ = nullptr;
};

namespace detail {
/// \name A handle more, or less, by whatever PE
///@{
void hold_anywhere(hetero_data& d);
void give_up_anywhere(hetero_data& d);
///@}
/// The calling PE may use the object from now on.
void visit(const hetero_data& d);
[[noreturn]] void refuse_to_leave_process();
}  // namespace detail

/// Takes a handle of an object of the process to a chare on another PE of it, as an argument of an entry method: the
/// receiver has the same object, which stays where it is. Throws `usage_error` when it would leave the process.
///
///     workers[i].send<&worker::work>(imbrex::object_reference(x));   // void work(imbrex::object_reference<double> x)
///     imbrex::submit({}, scale, x.get(), 2.0);
template <class T>
class object_reference {
 public:
  object_reference() = default;
  explicit object_reference(const hetero_object<T>& o) : object_(o.exists() ? o.data() : nullptr), size_(o.size()) {
    hold();
  }
  object_reference(const object_reference& other) : object_(other.object_), size_(other.size_) { hold(); }
  object_reference(object_reference&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), size_(other.size_) {}
  object_reference& operator=(object_reference other) noexcept {
    std::swap(object_, other.object_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~object_reference() {
    if (object_ != nullptr) detail::give_up_anywhere(*object_);
  }

  /// A handle; empty if the reference is.
  hetero_object<T> get() const {
    if (object_ == nullptr) return {};
    detail::visit(*object_);
    return hetero_object<T>::of(*object_, size_);
  }

  template <class Archive>
  void serialize(Archive&) {
    detail::refuse_to_leave_process();
  }

 private:
  void hold() {
    if (object_ != nullptr) detail::hold_anywhere(*object_);
  }

  hetero_data* object_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace imbrex
