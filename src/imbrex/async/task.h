#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "imbrex/async/activity.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/base/memory/thread_place.h"

namespace imbrex {

template <class T = void>
class task;

namespace detail {

[[noreturn]] void throw_no_task();
[[noreturn]] void throw_task_awaited_before();
[[noreturn]] void throw_awaited_before();
/// A coroutine has ended without `co_return` of its value.
std::exception_ptr ended_without_value() noexcept;

/// Destroys coroutine frames, and knows of it while it does: what is destroyed with a frame that waits was not
/// forgotten.
class frame_end {
 public:
  static void destroy(std::coroutine_handle<> frame) noexcept {
    ++depth_;
    frame.destroy();
    --depth_;
  }
  static bool is_under_way() { return depth_ != 0; }

 private:
  IMBREX_THREAD_LOCAL int depth_;
};

/// A task, or another wait that does nothing until then, ends that nobody has awaited, by the code of a coroutine or
/// entry method: warns, a few times.
[[gnu::cold]] void warn_of_task_not_awaited() noexcept;
[[gnu::cold]] void warn_of_wait_not_awaited() noexcept;

/// Of what gives away what it has when it is awaited, by whatever name; until then it has done nothing.
struct awaited_once {
  awaited_once() = default;
  awaited_once(awaited_once&& other) noexcept : begun(std::exchange(other.begun, true)) {}
  awaited_once& operator=(awaited_once&& other) noexcept {
    std::swap(begun, other.begun);
    return *this;
  }
  ~awaited_once() {
    if (!begun && !frame_end::is_under_way()) [[unlikely]]
      warn_of_wait_not_awaited();
  }
  bool begun = false;
  void begin() {
    if (std::exchange(begun, true)) [[unlikely]]
      throw_awaited_before();
  }
};

/// What the promises of all tasks share. Frames come from the PE's slab.
struct task_promise_base {
  std::coroutine_handle<> continuation;
  activity* root = nullptr;
  std::exception_ptr failure;

  static void* operator new(std::size_t size) { return slab::allocate(size); }
  static void operator delete(void* frame) { slab::free(frame); }
  static void operator delete(void* frame, std::size_t) { slab::free(frame); }

  std::suspend_always initial_suspend() noexcept { return {}; }

  struct final_awaiter {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) noexcept {
      task_promise_base& p = ended.promise();
      if (p.continuation) return p.continuation;
      if (p.root != nullptr) p.root->on_end(p.root);
      return std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  final_awaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }
};

template <class T>
struct task_promise : task_promise_base {
  std::optional<T> value;

  task<T> get_return_object() noexcept;
  template <class U>
  void return_value(U&& v) {
    value.emplace(std::forward<U>(v));
  }
  /// When it has ended.
  bool has_value() {
    if (!failure && !value) [[unlikely]]
      failure = ended_without_value();
    return !failure;
  }
  T take() {
    if (!has_value()) std::rethrow_exception(failure);
    return std::move(*value);
  }
};

template <>
struct task_promise<void> : task_promise_base {
  task<void> get_return_object() noexcept;
  void return_void() noexcept {}
  void take() {
    if (failure) std::rethrow_exception(failure);
  }
};

}  // namespace detail

/// A coroutine that starts when it is awaited (or when the runtime calls it as an entry method) and resumes its
/// awaiter on the same PE when it ends. Owns its frame: destroying a task destroys the suspended coroutine and all
/// that it awaits; one that was never awaited is warned of. An exception that leaves it is rethrown to the awaiter.
/// Resumed by its PE's loop only. One awaiter: awaiting it again, or a task that was moved from, throws `usage_error`.
/// Take arguments by value: a task outlives the call that made it.
template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;
  using handle_type = std::coroutine_handle<promise_type>;

  task() = default;
  explicit task(handle_type h) : handle_(h) {}
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      end();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~task() { end(); }

  struct [[nodiscard]] awaiter {
    handle_type handle;
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
      handle.promise().continuation = awaiting;
      return handle;
    }
    T await_resume() { return handle.promise().take(); }
  };
  awaiter operator co_await() const {
    if (!handle_) [[unlikely]]
      detail::throw_no_task();
    if (handle_.promise().continuation) [[unlikely]]
      detail::throw_task_awaited_before();
    return awaiter{handle_};
  }

  /// For the runtime: gives up ownership of the frame.
  handle_type release() { return std::exchange(handle_, {}); }
  handle_type handle() const { return handle_; }

 private:
  void end() noexcept {
    if (!handle_) return;
    if (!handle_.promise().continuation && !detail::frame_end::is_under_way()) [[unlikely]]
      detail::warn_of_task_not_awaited();
    detail::frame_end::destroy(handle_);
  }

  handle_type handle_;
};

namespace detail {
template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>(std::coroutine_handle<task_promise<T>>::from_promise(*this));
}
inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<task_promise<void>>::from_promise(*this));
}

template <class T>
struct is_task : std::false_type {};
template <class T>
struct is_task<task<T>> : std::true_type {};
}  // namespace detail

}  // namespace imbrex
