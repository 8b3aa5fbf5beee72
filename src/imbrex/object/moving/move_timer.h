#pragma once

#include "imbrex/base/clock.h"
#include "imbrex/object/collection/chare_pe.h"

namespace imbrex {

/// While it lives this PE works for a move: one that leaves, or, with `arrives`, one that comes. What moves have cost
/// is what balancing weighs its plans against.
class move_timer {
 public:
  explicit move_timer(scheduler& pe, bool arrives = false) : costs_(chare_pe::of(pe).move_costs), began_(now_ns()) {
    if (!arrives) ++costs_.num;
  }
  ~move_timer() { costs_.ns += now_ns() - began_; }
  move_timer(const move_timer&) = delete;
  move_timer& operator=(const move_timer&) = delete;

 private:
  chare_pe::cost_of_moves& costs_;
  const std::int64_t began_;
};

}  // namespace imbrex
