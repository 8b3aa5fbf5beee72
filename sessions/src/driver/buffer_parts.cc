#include "driver/buffer_parts.h"

#include <utility>

namespace imbrex::sessions {

buffer_parts::buffer_parts(std::vector<std::vector<data_run>> data) : data_(std::move(data)), states_(data_.size()) {
  for (std::atomic<state>& s : states_) s.store(state::given);
}

void buffer_parts::begin() {
  for (std::atomic<state>& s : states_) s.store(state::expected);
  any_taken_.store(false, std::memory_order_release);
}

bool buffer_parts::take(int part) {
  std::atomic<state>& s = states_[static_cast<std::size_t>(part)];
  state expected = state::expected;
  if (s.compare_exchange_strong(expected, state::taken)) {
    any_taken_.store(true, std::memory_order_release);
    return true;
  }
  s.wait(state::taken, std::memory_order_acquire);
  return false;
}

void buffer_parts::give(int part) {
  std::atomic<state>& s = states_[static_cast<std::size_t>(part)];
  s.store(state::given, std::memory_order_release);
  s.notify_all();
}

}  // namespace imbrex::sessions
