#pragma once

#include <functional>
#include <vector>

#include "system/domain.h"
#include "thermo_row.h"

namespace md {

/// A system in one box, stepped by a loop: what all other ways to run it are compared with.
class serial_run {
 public:
  /// `m` has one box; `initial`: null for the lattice.
  serial_run(const model& m, const initial_atoms* initial);

  /// Goes on by so many steps; calls `row` for the state at the start (only the first time) and wherever
  /// `thermo_every` asks for it, and for the last.
  void run(std::int64_t steps, const std::function<void(const thermo_row&)>& row);
  const domain& all() const { return all_; }

 private:
  void reneighbour();
  void forces(bool wants_energy);
  thermo_row state() const;
  /// Calls `pack` and then `unpack` for each link, which lead to this box itself.
  template <class Pack, class Unpack>
  void exchange(Pack pack, Unpack unpack);

  const model& model_;
  domain all_;
  std::vector<double> buffer_;
  std::int64_t step_ = 0;
};

/// Puts all atoms of the system into its only box, with the velocities of the start.
void make_whole_system(domain& all, const model& m, const initial_atoms* initial);

}  // namespace md
