#include "exchanges/entry_exchange.h"

#include "exchanges/player.h"
#include "pattern.h"

namespace pingpong {

void entry_exchange::expect(const plan& p) {
  ++last_;
  left_ = p.count;
  num_ticks_ = static_cast<std::uint64_t>(p.count);
  left_of_window_ = window_;
  sum_of_ticks_ = 0;
  wrong_ = 0;
  round_ = p.round;
}

ix::task<> entry_exchange::wait_for_the_last() { co_await self_.over(last_); }

void entry_exchange::say_over() { self_.proxy().send<&player::over>(last_); }

ix::task<> entry_exchange::rally(std::size_t bytes, int) {
  ball_.resize(bytes);
  if (self_.serves()) self_.other().send<&player::ball>(std::move(ball_));
  auto ended = wait_for_the_last();
  co_await ended;
}

void entry_exchange::ball(std::vector<std::byte> b) {
  if (round_ != 0) [[unlikely]]
    inspect(b);
  const bool last = --left_ == 0;
  if (last) say_over();
  if (last && self_.serves()) {
    ball_ = std::move(b);
  } else {
    self_.other().send<&player::ball>(std::move(b));
  }
}

// Player 1 then gives back a message of its own.
void entry_exchange::inspect(std::vector<std::byte>& b) {
  wrong_ += count_wrong(b.data(), b.size(), round_, 1 - self_.me());
  if (!self_.serves()) fill_pattern(b.data(), b.size(), round_, self_.me());
}

ix::task<> entry_exchange::fill(std::size_t bytes, std::uint64_t round) {
  ball_.resize(bytes);
  fill_pattern(ball_.data(), bytes, round, self_.me());
  co_return;
}

ix::task<std::uint64_t> entry_exchange::wrong(std::size_t, std::uint64_t) { co_return wrong_; }

ix::task<> entry_exchange::burst(std::size_t bytes, int rounds) {
  if (!self_.serves()) {
    auto ended = wait_for_the_last();
    co_await ended;
    co_return;
  }
  ball_.resize(bytes);
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < window_; ++i) self_.other().send<&player::shot>(ball_);
    co_await self_.acked(self_.next_window());
  }
}

void entry_exchange::shot(std::size_t) {
  if (--left_of_window_ > 0) return;
  left_of_window_ = window_;
  self_.other().send<&player::acked>(self_.next_window());
  if (--left_ == 0) say_over();
}

ix::task<> entry_exchange::ticks(int count, bool together) {
  if (!self_.serves()) {
    auto ended = wait_for_the_last();
    co_await ended;
    co_return;
  }
  const auto to = self_.other();
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    if (together) {
      to.send<&player::tick_with_others>(i);
    } else {
      to.send<&player::tick>(i);
    }
  }
  co_await self_.acked(self_.next_window());
}

void entry_exchange::tick(std::uint64_t number) {
  sum_of_ticks_ += number;
  if (--left_ > 0) return;
  wrong_ = sum_of_ticks_ != num_ticks_ * (num_ticks_ - 1) / 2 ? 1 : 0;
  self_.other().send<&player::acked>(self_.next_window());
  say_over();
}

}  // namespace pingpong
