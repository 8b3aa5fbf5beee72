#include "imbrex/async/executor.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <string>

#include "imbrex/base/log.h"

namespace imbrex {

thread_local constinit executor* executor::current_ = nullptr;
thread_local constinit task_journal* executor::journal_ = nullptr;

namespace {

// std::atomic::wait has no time limit, which a PE that also polls a network needs.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t microseconds) {
  timespec limit{};
  limit.tv_sec = microseconds / 1'000'000;
  limit.tv_nsec = (microseconds % 1'000'000) * 1000;
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected,
          microseconds < 0 ? nullptr : &limit, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace

bool executor::collect_all() {
  work* item = inbox_.take_all();
  if (item == nullptr) return false;
  std::uint32_t count = 0;
  while (item != nullptr) {
    work* following = item->next;
    ready_.push(item);
    item = following;
    ++count;
  }
  if (count >= flood && !warned_of_flood_) [[unlikely]]
    warn_of_flood(count);
  num_collected_ += count;
  if (count > 4) {
    batch_left_ = count < largest_batch ? count : largest_batch;
    batch_taken_ = cycle_count();
  }
  return true;
}

void executor::warn_of_flood(std::uint32_t count) {
  warned_of_flood_ = true;
  log_warning("a PE found " + std::to_string(count) +
              " messages at once: they come faster than it works them off, and wait in memory (each takes some hundred "
              "bytes and its arguments). Await replies or a reduction now and then, or send fewer and larger ones");
}

void executor::sleep(std::int64_t microseconds) {
  const std::uint32_t seen = wake_count_.load(std::memory_order_acquire);
  if (!ready_.empty() || !inbox_.declare_asleep()) return;
  futex_wait(wake_count_, seen, microseconds);
  inbox_.declare_awake();
}

void executor::withdraw(work* item) {
  while (!ready_.remove(item)) collect_all();
}

void executor::wake() {
  if (on_call != nullptr) return on_call(*this);
  wake_count_.fetch_add(1, std::memory_order_release);
  futex_wake(wake_count_);
}

}  // namespace imbrex
