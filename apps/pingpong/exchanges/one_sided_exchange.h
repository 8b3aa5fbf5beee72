#pragma once

#include "exchanges/exchange.h"
#include "exchanges/staged_memory.h"

namespace pingpong {

class player;

/// By put or get: player 0 moves the bytes to or from memory that player 1 has exposed, twice for each trip, awaiting
/// each one; player 1 does nothing for it.
class one_sided_exchange final : public exchange {
 public:
  /// `m` says which, and where the memory is.
  one_sided_exchange(player& self, ix::device& d, mode m, const equipment& e);

  ix::task<> rally(std::size_t bytes, int trips) override;
  ix::task<> burst(std::size_t bytes, int rounds) override;
  ix::task<> fill(std::size_t bytes, std::uint64_t round) override;
  ix::task<std::uint64_t> wrong(std::size_t bytes, std::uint64_t round) override;
  void expect(const plan&) override { ++last_; }

  const ix::global_pointer<std::byte>& exposed() const { return exposed_.pointer(); }

 private:
  bool puts() const { return mode_ == mode::put_host || mode_ == mode::put_device; }
  ix::task<> learn_where();
  ix::task<> move(std::size_t bytes, int i);
  ix::task<> move_window(std::size_t bytes);
  ix::task<> wait_for_the_last();
  void say_over();

  player& self_;
  const mode mode_;
  const int window_;
  staged_memory memory_;
  ix::exposed<std::byte> exposed_;
  ix::global_pointer<std::byte> there_;  // of player 0
  int last_ = 0;                         // number of the rally or burst
};

}  // namespace pingpong
