#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/base/time_source.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

/// Drives all PEs of a rank from one thread, a step at a time: for debuggers, for runs that can be repeated, and for
/// more PEs than threads make sense. Nothing ever runs at the same time as anything else, so that with one rank,
/// devices of the host and a `driven_time` a run is the same each time.
class pe_stepper {
 public:
  struct options {
    std::uint64_t seed = 0;       ///< of the order in which PEs have their turn; 0: one after the other
    driven_time* time = nullptr;  ///< moved on by each step, and, while all are idle, to what is due next; null: not
  };
  /// `become` makes the calling thread the given PE's, by its place among `pes`.
  pe_stepper(std::vector<scheduler*> pes, std::function<void(std::size_t)> become, const options& o);

  /// Until all have stopped.
  void run();

 private:
  bool have_turns();
  bool has_turn(std::size_t i);
  void all_idle();
  void rest();

  const std::vector<scheduler*> pes_;
  const std::function<void(std::size_t)> become_;
  const options options_;
  random_sequence random_;
  std::vector<std::size_t> order_;
  std::size_t num_running_ = 0;
  std::int64_t idle_since_ = 0;  // 0: they are not
  int idle_rounds_ = 0;
};

}  // namespace imbrex
