#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "imbrex/balance/live/balancer.h"
#include "imbrex/object/reduction.h"

/// What the PEs of a job say to each other about balancing (`balancer`).
namespace imbrex {

/// To PE 0: this PE has last heard of that round, and its interval is over.
struct balance_wanted {
  std::uint32_t after = 0;
  void operator()(scheduler& pe) const { balancer::of(pe)->begin_round_after(after); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & after;
  }
};

/// To all PEs: tell what your elements have cost.
struct balance_measure {
  pe_id root = no_pe;
  std::uint32_t round = 0;
  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::communication);
    balancer::of(pe)->measure(round);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & round;
  }
};

/// Up the tree: what was measured.
struct balance_measured {
  element_loads loads;
  void operator()(scheduler& pe) { balancer::of(pe)->add(std::move(loads)); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & loads;
  }
};

/// To one PE: its elements, by their places in what it told, and where they go.
struct balance_orders {
  std::uint32_t round = 0;
  std::vector<std::pair<std::uint32_t, pe_id>> moves;
  void operator()(scheduler& pe) const { balancer::of(pe)->carry_out(round, moves); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & round & moves;
  }
};

/// To PE 0: the orders of one PE have been carried out, as far as that could be done at once.
struct balance_orders_done {
  void operator()(scheduler& pe) const { balancer::of(pe)->carried_out(); }
  template <class Archive>
  void serialize(Archive&) {}
};

/// On a PE, behind its wishes to move elements.
struct balance_moves_begun {
  void operator()(scheduler& pe) const { pe.send(0, balance_orders_done{}, priorities::communication); }
  template <class Archive>
  void serialize(Archive&) {}
};

/// To the root of an allreduce that waited for a round: its contributors go on.
struct balance_over {
  reduction_id which;
  void operator()(scheduler& pe) const { to_contributors{}(pe, which, std::monostate{}); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & which;
  }
};

/// To PE 0: all elements that contribute to that allreduce are ready; they go on when they have been balanced.
struct balance_call {
  pe_id root = no_pe;
  reduction_id which;
  void operator()(scheduler& pe) const { balancer::of(pe)->begin_round({{root, which}}); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & which;
  }
};

}  // namespace imbrex
