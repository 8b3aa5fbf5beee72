#include "exchanges/one_sided_exchange.h"

#include "exchanges/player.h"

namespace pingpong {

one_sided_exchange::one_sided_exchange(player& self, ix::device& d, mode m, const equipment& e)
    : self_(self),
      mode_(m),
      window_(e.window),
      memory_(d, e.largest, staged_memory::slots_for(e.largest, e.window),
              fmt::format("puts and gets of player {}", self.me())),
      exposed_(puts() ? memory_.all_in() : memory_.out(e.largest), d) {}

ix::task<> one_sided_exchange::learn_where() {
  if (there_.size() > 0) co_return;
  auto asked = self_.other().call<&player::exposed_by>(mode_);
  there_ = co_await std::move(asked);
}

// When a put returns the data are there; when a get does they are to be seen in the stream.
ix::task<> one_sided_exchange::move(std::size_t bytes, int i) {
  ix::stream& s = memory_.stream();
  if (puts()) {
    const std::size_t slot = static_cast<std::size_t>(i % memory_.num_slots()) * memory_.largest();
    return ix::put(there_.slice(slot, bytes), memory_.out(bytes), s);
  }
  return ix::get(there_.slice(0, bytes), memory_.in(bytes, i), s);
}

void one_sided_exchange::say_over() { self_.other().send<&player::over>(last_); }

ix::task<> one_sided_exchange::wait_for_the_last() { co_await self_.over(last_); }

ix::task<> one_sided_exchange::rally(std::size_t bytes, int trips) {
  if (!self_.serves()) {
    auto ended = wait_for_the_last();
    co_await ended;
    co_return;
  }
  auto known = learn_where();
  co_await known;
  for (int i = 0; i < 2 * trips; ++i) {
    auto moved = move(bytes, 0);
    co_await moved;
    if (!puts()) co_await memory_.stream().done();
  }
  say_over();
}

ix::task<> one_sided_exchange::move_window(std::size_t bytes) {
  std::vector<ix::task<>> moves;
  moves.reserve(static_cast<std::size_t>(window_));
  for (int i = 0; i < window_; ++i) moves.push_back(move(bytes, i));
  auto all = ix::when_all(std::move(moves));
  co_await all;
  co_await memory_.stream().done();
}

ix::task<> one_sided_exchange::burst(std::size_t bytes, int rounds) {
  if (!self_.serves()) {
    auto ended = wait_for_the_last();
    co_await ended;
    co_return;
  }
  for (int r = 0; r < rounds; ++r) {
    auto moved = move_window(bytes);
    co_await moved;
  }
  say_over();
}

ix::task<> one_sided_exchange::fill(std::size_t bytes, std::uint64_t round) {
  return memory_.fill(bytes, round, self_.me());
}

// Only one player receives anything.
ix::task<std::uint64_t> one_sided_exchange::wrong(std::size_t bytes, std::uint64_t round) {
  if (self_.serves() == puts()) co_return 0;
  auto compared = memory_.wrong(bytes, round, 1 - self_.me());
  co_return co_await compared;
}

}  // namespace pingpong
