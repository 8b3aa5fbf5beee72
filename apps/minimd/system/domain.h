#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support/exact_sum.h"
#include "system/atoms.h"
#include "system/lattice.h"
#include "system/model.h"
#include "system/neighbour_lists.h"

namespace md {

/// The sums of a system's atoms from which thermodynamics follows; exact, so that they do not depend on who added what.
struct thermo_sums {
  apps::exact_sum kinetic;  ///< m v^2
  apps::exact_sum energy;
  apps::exact_sum virial;
};

/// One box with its atoms: what the whole of a time step is made of, but for the messages, which its owner sends and
/// gets. The order of a step (reference: integrate.cpp):
///
///   first_half_step
///   pack_positions, unpack_positions, for the links of each round       } or, every so many steps,
///   take_leavers, add, sort, forget_ghosts, choose_ghosts, pack_ghosts, add_ghosts for those of each round,
///   build_lists begin_forces; with the embedded atom method pack_slopes, unpack_slopes for each round; end_forces
///   pack_forces, add_forces for each round, the last first, where half lists have ghosts' forces
///   second_half_step
///
/// A link is what goes to one other box, or an image of this one, and comes from there; the other end knows link k as
/// its link `opposite(k)`. Links of one round are independent of each other; those of later rounds send on what came in
/// earlier ones. Directly exchanged, all links are of one round. Atoms stand in an order that depends on nothing but
/// the decomposition. For one thread at a time.
class domain {
 public:
  domain(const model& m, const box_index& where);

  const box_index& where() const { return where_; }
  const vector3& lo() const { return lo_; }
  const vector3& hi() const { return hi_; }
  std::int32_t num_atoms() const { return atoms_.num_own; }
  std::int32_t num_ghosts() const { return atoms_.num_ghosts; }
  const atom_arrays& atoms() const { return atoms_; }
  std::int64_t num_pairs() const { return lists_.num_pairs(); }
  std::uint64_t bytes() const;

  /// An own atom; not between `choose_ghosts` and the next `take_leavers`.
  void add(const atom_record& a);
  /// All own atoms in their order.
  std::vector<atom_record> own_atoms() const;

  /// \name Velocities at the start
  ///@{
  void sum_velocities(apps::exact_sum (&sums)[3]) const;
  void shift_velocities(const vector3& by);
  void scale_velocities(double by);
  void sum_kinetic(apps::exact_sum& sum) const;
  ///@}

  void first_half_step();
  void second_half_step();

  /// \name Reneighbouring
  ///@{
  /// The other boxes, each once, to which atoms may go and from which they may come.
  const std::vector<box_index>& neighbour_boxes() const { return neighbours_; }
  /// Brings all atoms back into the period and takes out those of other boxes; in the order of `neighbour_boxes`.
  /// Throws `error` naming an atom that has gone further than to one of those, or is nowhere.
  std::vector<std::vector<atom_record>> take_leavers();
  /// By place, so that neighbours in space are neighbours in memory; of one place by id.
  void sort();
  void forget_ghosts();
  /// Notes which atoms are ghosts of whom, for the links of round `r`.
  void choose_ghosts(int r);
  /// Positions and ids, 4 doubles each.
  void pack_ghosts(int k, std::vector<double>& out) const;
  /// Of the links of a round in their order.
  void add_ghosts(int k, std::span<const double> in);
  void build_lists();
  ///@}

  /// \name Each step
  ///@{
  std::size_t num_sent(int k) const { return links_[k].sent.size(); }
  /// The link's other end is this box: what it packs it unpacks.
  bool is_own(int k) const { return links_[k].is_own; }
  const box_index& box_of(int k) const { return links_[k].box; }
  int num_links() const { return static_cast<int>(links_.size()); }
  int num_rounds() const { return static_cast<int>(rounds_.size()) - 1; }
  /// The links of round r are those from here to before `first_link(r + 1)`.
  int first_link(int r) const { return rounds_[r]; }
  int opposite(int k) const { return links_[k].opposite; }
  /// Whether there are ghosts at the other end of link k, and here: with a half shell (`list_rule`) at one of the two.
  bool has_ghosts_there(int k) const { return !model_.lists.half_shell || k < opposite(k); }
  bool has_ghosts_here(int k) const { return has_ghosts_there(opposite(k)); }
  void pack_positions(int k, std::vector<double>& out) const;
  /// Throws `error` when these are not as many as the ghosts of link k.
  void unpack_positions(int k, std::span<const double> in);
  /// `wants_energy`: for `sum_thermo`.
  void begin_forces(bool wants_energy);
  void pack_slopes(int k, std::vector<double>& out) const;
  void unpack_slopes(int k, std::span<const double> in);
  void end_forces();
  /// Forces on the ghosts of link k, for their own box.
  void pack_forces(int k, std::vector<double>& out) const;
  void add_forces(int k, std::span<const double> in);
  ///@}

  /// After a step for which energies were wanted.
  void sum_thermo(thermo_sums& sums) const;

 private:
  struct link {
    box_index box{};
    int opposite = 0;
    bool is_own = false;
    vector3 shift{};     ///< of what is sent
    vector3 lo{}, hi{};  ///< of the box; in rounds, of what in other directions than the round's is sent whatever it is
    int after = -1;      ///< in rounds: the link whose ghosts are sent on; -1: all that there is before the round
    std::vector<std::int32_t> sent;
    std::int32_t first_ghost = 0, num_ghosts = 0;
  };

  void check_count(int k, std::size_t doubles, std::size_t each) const;
  void make_direct_links();
  void make_links_in_rounds();
  void add_link(const box_index& offset);
  void find_neighbours();
  void choose_for(link& l, std::int32_t first, std::int32_t last);
  void wrap(std::int32_t i);
  std::size_t neighbour_of(std::int32_t i, const box_index& owner) const;
  void reorder(const std::vector<std::int32_t>& order);
  void close_arrays();
  force_work work();

  const model& model_;
  const box_index where_;
  vector3 lo_{}, hi_{};
  const double half_kick_;
  atom_arrays atoms_;
  neighbour_lists lists_;
  std::vector<link> links_;
  std::vector<int> rounds_;  ///< the first link of each, and their number
  std::vector<box_index> neighbours_;
  bool wants_energy_ = false;
  std::vector<double> energy_, virial_, density_, slope_;
};

}  // namespace md
