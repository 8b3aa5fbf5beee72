#pragma once

#include <coroutine>
#include <span>
#include <type_traits>
#include <utility>

#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/hetero_task.h"
#include "imbrex/hetero/tasks/task_waits.h"

namespace imbrex {

/// An object's elements in memory of the host, for as long as this lives: nobody changes them meanwhile, and, if it may
/// write (`T` is not const), nobody reads them. Later tasks that conflict wait. For the PE that asked for it. Who waits
/// for such a task while it keeps this waits for ever: when nothing else is left to happen, that is reported as a
/// deadlock.
template <class T>
class host_view {
 public:
  host_view() = default;
  host_view(task_node* t, T* data, std::size_t size) : node_(t), data_(data), size_(size) {}
  host_view(host_view&& other) noexcept
      : node_(std::exchange(other.node_, nullptr)), data_(other.data_), size_(other.size_) {}
  /// One that could write, as one that reads; the mode stays what it was asked for.
  template <class U>
    requires std::is_same_v<T, const U>
  host_view(host_view<U>&& other) noexcept  // NOLINT(google-explicit-constructor)
      : node_(std::exchange(other.node_, nullptr)), data_(other.data_), size_(other.size_) {}
  host_view& operator=(host_view&& other) noexcept {
    std::swap(node_, other.node_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~host_view() { release(); }
  /// Ends it early.
  void release();

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }

 private:
  template <class U>
  friend class host_view;

  task_node* node_ = nullptr;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {
/// The task that a view is: it runs when the data are there, and is over when the view ends.
struct view_node final : task_node {
  using task_node::task_node;
  task_access use;
  std::byte* memory = nullptr;
  bool taken = false;      ///< somebody has the view
  bool abandoned = false;  ///< nobody will

  bool is_there() const { return memory != nullptr || over(); }
  static hetero_task submit(hetero_domain& domain, hetero_data& data, access_mode mode);
  static void end(task_node* t);

 private:
  void end_here();
};
}  // namespace detail

/// What `hetero_object::host` gives: `co_await` it once for the view. Throws what the task threw that should have
/// written the data. `Size` is the view's size, or shape.
template <class T, class View = host_view<T>, class Size = std::size_t>
class [[nodiscard]] host_access {
 public:
  host_access(hetero_domain& domain, hetero_data& data, const Size& size, access_mode mode)
      : task_(detail::view_node::submit(domain, data, mode)),
        node_(static_cast<detail::view_node*>(task_.node())),
        size_(size) {}
  host_access(host_access&& other) noexcept
      : task_(std::move(other.task_)), node_(std::exchange(other.node_, nullptr)), size_(other.size_) {}
  ~host_access() {
    if (node_ != nullptr && !node_->taken) detail::view_node::end(node_);
  }
  /// Whether a `co_await` would not wait. That of another PE's object always does.
  bool ready() const { return task_journal::is_near(node_->domain) && node_->is_there(); }

  class [[nodiscard]] awaiter : task_wait {
   public:
    explicit awaiter(host_access& a) : access_(a) {}
    bool await_ready() const { return access_.ready(); }
    void await_suspend(std::coroutine_handle<> h) {
      const auto is_there = [](const task_node& t) { return static_cast<const detail::view_node&>(t).is_there(); };
      wait_for(*access_.node_, h, is_there, [](const waiter* w) {
        return "an object's data on the host, " + how_far(*static_cast<const awaiter*>(w)->access_.node_);
      });
    }
    View await_resume() {
      resumed();
      detail::view_node& n = *access_.node_;
      if (n.state == task_state::failed) throw_failure(n);
      n.taken = true;
      hetero_task::hold(n);
      return View(&n, reinterpret_cast<T*>(n.memory), access_.size_);
    }

   private:
    host_access& access_;
  };
  awaiter operator co_await() { return awaiter(*this); }

 private:
  hetero_task task_;
  detail::view_node* node_;
  Size size_;
};

template <class T>
void host_view<T>::release() {
  if (node_ == nullptr) return;
  task_node* const t = std::exchange(node_, nullptr);
  detail::view_node::end(t);
  hetero_task::give_up(*t);
}

}  // namespace imbrex
