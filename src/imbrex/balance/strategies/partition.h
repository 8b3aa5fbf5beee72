#pragma once

#include <span>
#include <vector>

#include "imbrex/balance/balance_strategy.h"

namespace imbrex {

/// Cuts all elements that can move into one part for each PE, whatever was before; derived classes say how. Elements
/// that need a GPU are cut among PEs that have one, and then the others among all PEs by what is left. Where there is
/// more than one kind of work, what the cut left uneven `refine` evens out.
class partition_strategy : public balance_strategy {
 public:
  balance_plan plan(const balance_problem& problem) const final;

 protected:
  /// What is to be cut.
  struct cut_task {
    const balance_problem& problem;
    std::span<const int> elements;    ///< by number
    std::span<const double> weights;  ///< of each of them; their sum is above 0
    std::span<const double> shares;   ///< of each part, of the sum of weights; they sum up to 1, and some may be 0
    std::span<const int> nodes;       ///< of each part, in order
  };
  /// The part of each element. Parts whose numbers are near are of PEs that are near: of a rank, then of a node.
  virtual std::vector<int> cut(const cut_task& t) const = 0;
  /// Throws where it lacks what it cuts by.
  virtual void check_input(const balance_problem& problem) const = 0;
  /// Whether it comes out uneven, and which part of a node is which means nothing: then nodes, and PEs of a node,
  /// change places so that as much as possible stays where it is.
  virtual bool is_rough() const { return false; }

 private:
  struct phase;
  void place(const phase& f, std::vector<int>& placement) const;
};

/// `rcb`: recursive coordinate bisection. Cuts space across its longest side, so that the elements of both sides weigh
/// what their PEs can do, and so on with each side (Berger and Bokhari 1987). Parts are boxes.
class rcb_strategy final : public partition_strategy {
 public:
  bool uses_communication() const override { return false; }
  bool uses_places() const override { return true; }

 protected:
  std::vector<int> cut(const cut_task& t) const override;
  void check_input(const balance_problem& problem) const override;
};

/// `sfc`: walks through space along a Hilbert curve, which leaves every region only when it has been everywhere in it,
/// and cuts the walk.
class sfc_strategy final : public partition_strategy {
 public:
  bool uses_communication() const override { return false; }
  bool uses_places() const override { return true; }

 protected:
  std::vector<int> cut(const cut_task& t) const override;
  void check_input(const balance_problem& problem) const override;
};

/// Throws `usage_error` for a problem without places, in the name of that strategy.
void check_has_places(const balance_problem& problem, const char* strategy);

}  // namespace imbrex
