#include "home.h"

#include <atomic>
#include <mutex>
#include <vector>

namespace imbrex_python {

namespace {

std::atomic<std::uint64_t> number{1};
std::mutex mutex;
std::vector<std::pair<ix::executor*, std::function<void()>>> left;
std::atomic<bool> is_any_left{false};

}  // namespace

std::uint64_t job_number() { return number.load(std::memory_order_relaxed); }

void job_is_over() {
  ++number;
  const std::lock_guard alone(mutex);
  left.clear();
  is_any_left = false;
}

void leave_to(ix::executor* home, std::function<void()> f) {
  const std::lock_guard alone(mutex);
  left.emplace_back(home, std::move(f));
  is_any_left = true;
}

void see_to_what_was_left() {
  if (!is_any_left.load(std::memory_order_relaxed)) return;
  std::vector<std::function<void()>> mine;
  {
    const std::lock_guard alone(mutex);
    std::erase_if(left, [&](auto& one) {
      if (one.first != ix::executor::current()) return false;
      mine.push_back(std::move(one.second));
      return true;
    });
    is_any_left = !left.empty();
  }
  for (const auto& f : mine) f();
}

}  // namespace imbrex_python
