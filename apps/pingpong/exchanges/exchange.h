#pragma once

#include <imbrex/imbrex.h>

#include <cstddef>
#include <cstdint>

#include "plan.h"

namespace pingpong {

namespace ix = imbrex;

/// One player's end of a mode: how it passes bytes to the other player and back. Both ends are made and used alike, on
/// their players' PEs. Player 0 serves.
class exchange {
 public:
  virtual ~exchange() = default;

  /// `trips` times: player 0 sends `bytes`, player 1 sends as many when it has them. Nothing is under way afterwards.
  virtual ix::task<> rally(std::size_t bytes, int trips) = 0;
  /// `rounds` times: player 0 sends a whole window of messages, which player 1 answers by a short one.
  virtual ix::task<> burst(std::size_t bytes, int rounds) = 0;

  /// Makes the player's message that of `round`, and what it has received something else.
  virtual ix::task<> fill(std::size_t bytes, std::uint64_t round) = 0;
  /// How many bytes of what the last rally brought differ from what was to come. Both after `fill` with that round.
  virtual ix::task<std::uint64_t> wrong(std::size_t bytes, std::uint64_t round) = 0;

  /// Called before either player begins with `p`: the other's messages may come sooner than its call.
  virtual void expect(const plan& p) { static_cast<void>(p); }
  /// Called before and after each rally and burst, when the other player is about to call it too. Those that block the
  /// PE wait here until nothing that imbrex has sent is needed any more.
  virtual void await_quiet() {}
  /// The orderly end, called at both ends; the destructor may follow without it after a failure.
  virtual void close() {}
};

}  // namespace pingpong
