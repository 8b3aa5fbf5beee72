#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "imbrex/async/task.h"
#include "imbrex/base/memory/slab.h"

/// What `when_all` and `when_any` share: one awaitable driven by a coroutine of its own, which tells a join when
/// it ends.
namespace imbrex::detail {

template <class A>
decltype(auto) awaiter_of(A&& awaitable) {
  if constexpr (requires { std::forward<A>(awaitable).operator co_await(); }) {
    return std::forward<A>(awaitable).operator co_await();
  } else if constexpr (requires { operator co_await(std::forward<A>(awaitable)); }) {
    return operator co_await(std::forward<A>(awaitable));
  } else {
    return std::forward<A>(awaitable);
  }
}

template <class A>
using raw_result_of =
    decltype(std::declval<std::remove_reference_t<decltype(awaiter_of(std::declval<A>()))>&>().await_resume());

/// The value an awaitable yields; `std::monostate` for void.
template <class A>
using result_of =
    std::conditional_t<std::is_void_v<raw_result_of<A>>, std::monostate, std::remove_cvref_t<raw_result_of<A>>>;

/// Told by each branch that ended; says which coroutine goes on.
struct join {
  std::coroutine_handle<> (*ended)(join*, std::size_t branch) noexcept = nullptr;
  std::exception_ptr failure;  ///< what the first one that failed has thrown
};

/// Starts when `start` is called. Owns its frame; destroying it while it waits cancels the wait.
template <class R>
class branch {
 public:
  struct promise_type {
    join* told = nullptr;
    std::size_t number = 0;
    std::optional<R> value;
    std::exception_ptr failure;

    static void* operator new(std::size_t size) { return slab::allocate(size); }
    static void operator delete(void* frame) { slab::free(frame); }
    static void operator delete(void* frame, std::size_t) { slab::free(frame); }

    branch get_return_object() noexcept { return branch(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct final_awaiter {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
        promise_type& p = h.promise();
        return p.told->ended(p.told, p.number);
      }
      void await_resume() noexcept {}
    };
    final_awaiter final_suspend() noexcept { return {}; }
    void unhandled_exception() noexcept {
      failure = std::current_exception();
      if (!told->failure) told->failure = failure;
    }
    template <class U>
    void return_value(U&& v) {
      value.emplace(std::forward<U>(v));
    }
  };

  branch() = default;
  explicit branch(std::coroutine_handle<promise_type> h) : handle_(h) {}
  branch(branch&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  branch& operator=(branch&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~branch() { cancel(); }

  void start(join* told, std::size_t number) {
    handle_.promise().told = told;
    handle_.promise().number = number;
    handle_.resume();
  }
  void cancel() {
    if (handle_) frame_end::destroy(std::exchange(handle_, {}));
  }
  R take() {
    promise_type& p = handle_.promise();
    if (p.failure) std::rethrow_exception(p.failure);
    return std::move(*p.value);
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

template <class A>
branch<result_of<A>> make_branch(A awaitable) {
  if constexpr (std::is_void_v<raw_result_of<A>>) {
    co_await std::move(awaitable);
    co_return std::monostate{};
  } else {
    co_return co_await std::move(awaitable);
  }
}

}  // namespace imbrex::detail
