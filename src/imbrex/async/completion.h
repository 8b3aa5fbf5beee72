#pragma once

#include <atomic>
#include <exception>
#include <utility>

#include "imbrex/async/activity.h"

namespace imbrex {

/// Something that happens once, set by any thread, awaited by one coroutine. Must outlive the `set` call.
/// The awaiter is resumed through its PE's queue.
class completion {
 public:
  /// Any thread; once.
  void set() {
    waiter* w = state_.exchange(happened(), std::memory_order_acq_rel);
    if (w != nullptr) w->wake();
  }
  bool is_set() const { return state_.load(std::memory_order_acquire) == happened(); }

  class [[nodiscard]] awaiter : waiter {
   public:
    explicit awaiter(completion& c, std::string (*what)(const waiter*)) : completion_(c), what_(what) {}
    ~awaiter() {
      if (!handle) return;  // never suspended, or resumed
      --home->operations;
      waiter* self = this;
      if (!completion_.state_.compare_exchange_strong(self, nullptr, std::memory_order_acq_rel)) home->withdraw(this);
    }
    bool await_ready() const noexcept { return completion_.is_set(); }
    bool await_suspend(std::coroutine_handle<> h) {
      suspend(h, what_);
      ++home->operations;
      waiter* nobody = nullptr;
      if (completion_.state_.compare_exchange_strong(nobody, this, std::memory_order_acq_rel)) return true;
      cancel();
      return false;
    }
    void await_resume() noexcept {
      if (home != nullptr) --home->operations;
      handle = nullptr;
    }

   private:
    completion& completion_;
    std::string (*what_)(const waiter*);
  };

  awaiter operator co_await() {
    return awaiter(*this, [](const waiter*) { return std::string("a completion"); });
  }

 private:
  static waiter* happened() { return reinterpret_cast<waiter*>(&mark_); }
  inline static char mark_ = 0;

  std::atomic<waiter*> state_{nullptr};
};

}  // namespace imbrex
