#pragma once

#include <csignal>
#include <utility>

#include "imbrex/checkpoint/live/checkpoint_leader.h"
#include "imbrex/checkpoint/live/checkpointer.h"
#include "imbrex/object/reduction.h"

/// What PEs say to each other about points at which a checkpoint may be made (`checkpoint_point`).
namespace imbrex {

/// To PE 0: all elements that contribute to that allreduce have come to a point.
struct point_call {
  pe_id root = no_pe;
  reduction_id which;
  int signal = 0;
  void operator()(scheduler& pe) const { checkpointer::of(pe).leader().reached({root, which, {}}, signal); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & which & signal;
  }
};

/// To PE 0: the number of PEs is to change.
struct resize_call {
  int pes = 0;
  void operator()(scheduler& pe) const { checkpointer::of(pe).leader().resize(pes); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & pes;
  }
};

/// To the root of the allreduce: its contributors go on.
struct point_over {
  reduction_id which;
  bool made = false;
  void operator()(scheduler& pe) const { to_contributors{}(pe, which, made ? 1 : 0); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & which & made;
  }
};

namespace detail {

/// Where the results of allreduces go whose contributors stand at a point: the number of a signal that asks for a
/// checkpoint; what comes back to them is 1 when one was made.
struct to_checkpointer {
  static constexpr bool is_checkpoint_point = true;
  static constexpr const char* what_contributes = "ix::checkpoint_point";
  static constexpr const char* what_is_awaited = "all of its array to come to checkpoint_point";
  void operator()(scheduler& pe, const reduction_id& which, int signal) const {
    pe.send(0, point_call{pe.id(), which, signal}, priorities::communication);
  }
  template <class Archive>
  void serialize(Archive&) {}
};

}  // namespace detail

}  // namespace imbrex
