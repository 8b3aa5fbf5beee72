#pragma once

#include <vector>

#include "exchanges/exchange.h"
#include "plan.h"

namespace pingpong {

class player;

/// By entry-method messages that carry a vector. In a rally it is the same vector all the time: inside a process it is
/// moved from hand to hand, between processes it is serialised in every hop.
class entry_exchange final : public exchange {
 public:
  entry_exchange(player& self, int window) : self_(self), window_(window) {}

  ix::task<> rally(std::size_t bytes, int trips) override;
  ix::task<> burst(std::size_t bytes, int rounds) override;
  ix::task<> fill(std::size_t bytes, std::uint64_t round) override;
  ix::task<std::uint64_t> wrong(std::size_t bytes, std::uint64_t round) override;
  void expect(const plan& p) override;

  /// Player 0 sends `count` messages of one number each; the last one is answered.
  ix::task<> ticks(int count, bool together);
  /// Of player 1, after `ticks`: 1 if they were not those sent (their order may be the scheduler's).
  std::uint64_t wrong_ticks() const { return wrong_; }

  /// \name What has come for the player's entry methods
  ///@{
  void ball(std::vector<std::byte> b);
  void shot(std::size_t bytes);
  void tick(std::uint64_t number);
  ///@}

 private:
  ix::task<> wait_for_the_last();
  void say_over();
  void inspect(std::vector<std::byte>& b);

  player& self_;
  const int window_;
  std::vector<std::byte> ball_;
  int left_ = 0;             // messages to come
  int last_ = 0;             // number of the rally, burst or row of ticks
  std::uint64_t round_ = 0;  // other than 0: what comes is inspected
  std::uint64_t wrong_ = 0;
  std::uint64_t num_ticks_ = 0, sum_of_ticks_ = 0;
  int left_of_window_ = 0;
};

}  // namespace pingpong
