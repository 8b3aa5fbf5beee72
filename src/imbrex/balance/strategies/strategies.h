#pragma once

#include <functional>

#include "imbrex/balance/balance_strategy.h"
#include "imbrex/balance/strategies/pe_topology.h"

/// imbrex's own strategies; `make_strategy` makes them by name. The contract of them all: balance_strategy.h. rcb, sfc
/// and graph, which cut all elements into parts: partition.h.
namespace imbrex {

/// `none`: nobody moves, not even from a GPU that holds too much.
class no_strategy final : public balance_strategy {
 public:
  balance_plan plan(const balance_problem& problem) const override;
  bool uses_communication() const override { return false; }
};

/// `greedy`: the heaviest elements first, each to where it would be done first, wherever it is now. Nearly all move.
/// The longest time is at most 4/3 - 1/(3 m) of the best possible on m equal PEs without GPUs, pins and background
/// (Graham 1969).
class greedy_strategy final : public balance_strategy {
 public:
  balance_plan plan(const balance_problem& problem) const override;
  bool uses_communication() const override { return false; }
};

/// `refine`: PEs and GPUs that have too much give just so much away, large elements first, to those with least. Finds
/// the lowest level that it reaches so, and stops at `1 + tolerance` of an even load.
class refine_strategy final : public balance_strategy {
 public:
  explicit refine_strategy(double tolerance = 0.02) : tolerance_(tolerance) {}
  balance_plan plan(const balance_problem& problem) const override;
  bool uses_communication() const override { return false; }

 private:
  double tolerance_;
};

/// `comm_refine`: as `refine`, but elements go to PEs of their partners where there is room; then elements at the edges
/// of PEs go where they send most, as long as no PE or GPU gets more than the level. Bytes between ranks count twice,
/// between nodes four times.
class comm_refine_strategy final : public balance_strategy {
 public:
  explicit comm_refine_strategy(double tolerance = 0.02) : tolerance_(tolerance) {}
  balance_plan plan(const balance_problem& problem) const override;

 private:
  double tolerance_;
};

/// `diffusion`: neighbouring PEs even out what they have, pair by pair; no PE knows more than its own load and that of
/// the neighbour that it is paired with. In a job each pair would be a message there and back.
class diffusion_strategy final : public balance_strategy {
 public:
  using topology_of = std::function<pe_topology(const balance_problem&)>;
  /// Neighbours in a hypercube of all PEs.
  diffusion_strategy();
  explicit diffusion_strategy(topology_of neighbours, int max_sweeps = 8);
  balance_plan plan(const balance_problem& problem) const override;
  bool uses_communication() const override { return false; }

 private:
  topology_of neighbours_;
  int max_sweeps_;
};

/// `hierarchical`: evens out nodes, then the ranks of each node, then the PEs of each rank, each by `refine`. Only what
/// one node has too much leaves it.
class hierarchical_strategy final : public balance_strategy {
 public:
  balance_plan plan(const balance_problem& problem) const override;
  bool uses_communication() const override { return false; }
};

}  // namespace imbrex
