#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/expected_atoms.h"
#include "gpu/gpu_around.h"
#include "gpu/gpu_room.h"
#include "kernels/gpu_exchange.h"
#include "kernels/gpu_system.h"
#include "output/dump.h"
#include "system/domain.h"

namespace md {

/// One box with its atoms in the memory of a GPU: what `domain` is on the host, all of a time step but the messages,
/// which its owner sends and gets. Functions enqueue into the compute stream and return. The order (`wait`: for the
/// compute stream, `messages`: with the boxes around):
///
///   take; wait
///   reneighbouring: find_leavers, wait, leavers_found, pack_leavers, messages, sort,
///                   find_ghosts, wait, messages, choose_ghosts, pack_positions, messages to ghosts(),
///                   build_lists, wait, until lists_are_whole()
///   a step:         with the embedded atom method embed, pack_slopes, messages to ghost_slopes(); step;
///                   pack_positions, messages to ghosts(), where the next is not a reneighbouring
///   the same where has_inner(), for messages that go while it computes:
///                   step_outer, which alone takes ghosts and what is sent, in a stream of its own, and step_inner in
///                   the compute stream, each after both of the step before; pack_positions after step_outer
///
/// In a whole box there are no messages, and no ghosts; leavers and ghosts need not be looked for. What packs is of the
/// stream given, which is to be after the compute stream. For one thread.
class gpu_domain {
 public:
  gpu_domain(const model& m, const box_index& where, imbrex::stream& compute);

  const gpu_around& around() const { return around_; }
  std::uint32_t num_atoms() const { return num_; }
  /// Of the GPU.
  std::uint64_t bytes() const;

  /// On a simulated GPU: kernels find nothing, and so many atoms are where they are on average.
  bool is_expected() const { return expected_.has_value(); }

  /// The atoms of `box`, which lives until the stream has been waited for.
  void take(const domain& box);
  /// Those that were read back, before a reneighbouring.
  void take_again();
  /// The atoms, when nothing that was enqueued is left to do; as they are before a reneighbouring.
  template <class Archive>
  void serialize(Archive& ar) {
    ar & num_ & now_;
    ar& x_[now_] & v_ & id_;  // in a statement of its own: the index has been read by then
  }

  /// \name Reneighbouring
  ///@{
  void find_leavers();
  /// Throws `error` naming an atom that is nowhere, or further than the boxes around.
  void leavers_found(std::int64_t step);
  std::uint32_t num_leavers(int p) const { return num_of(leavers_, p); }  ///< for the box around at place `p`
  std::uint32_t num_leavers() const { return leavers_[around_.targets.num]; }
  void pack_leavers(gpu_mover* out);
  /// Takes what has come, and brings all into the order of bricks.
  void sort(const gpu_messages<gpu_mover>& arrivals);
  void find_ghosts();
  std::uint32_t num_sent(int p) const { return num_of(sent_places(), p); }
  std::uint32_t num_sent() const { return sent_places()[around_.targets.num]; }
  /// `num_ghosts` are to come.
  void choose_ghosts(std::uint32_t num_ghosts);
  void build_lists();
  /// False: there was no room for them, and now there is. Throws as `leavers_found`.
  bool lists_are_whole(std::int64_t step);
  ///@}

  /// \name Each step
  ///@{
  void pack_positions(vector4* out, imbrex::stream& s);
  vector4* ghosts() { return x_[now_].data() + num_; }
  void embed();
  void pack_slopes(double* out, imbrex::stream& s);
  double* ghost_slopes() { return slope_.data() + num_; }
  /// Forces; the second half of the step that led here, if any, and the first of the next. `wants_sums`: for
  /// `copy_sums`.
  void step(bool finishes, bool advances, bool wants_sums);
  /// Of pairs only, in boxes with enough bricks that the boxes around have no part in.
  bool has_inner() const { return brick_order_.size() > 0; }
  /// \name A step in two halves, which finishes and advances
  ///@{
  void step_outer(imbrex::stream& s);
  void step_inner();
  ///@}
  /// After a step that advanced: the new positions are those that count.
  void advance() { now_ ^= 1; }
  ///@}

  /// The sums of m v^2, energy and virial; in memory of the host when the stream has come to this.
  const double* copy_sums();
  /// The same of all atoms, for `dump_atoms`.
  void copy_atoms();
  std::vector<dump_atom> dump_atoms() const;

 private:
  template <class T>
  using buffer = imbrex::buffer<T>;
  struct found_memory {
    gpu_findings found;
    std::uint32_t first[most_gpu_targets + 1] = {};
  };

  std::uint32_t num_of(const std::uint32_t* first, int p) const {
    return first[around_.first[p + 1]] - first[around_.first[p]];
  }
  const std::uint32_t* sent_places() const { return expected_ ? expected_->ghosts.data() : on_host_.data()->first; }
  gpu_atoms atoms() { return {x_[now_].data(), v_.data(), id_.data()}; }
  imbrex::device& gpu() const { return compute_.on(); }
  void copy_splines();
  void make_room_for_atoms(std::size_t own, std::size_t all);
  void make_room_for_work(std::size_t bytes);
  void make_room_for_lists();
  void count(gpu_choice who);
  void sort_ghosts();
  void refuse_lost(std::int64_t step) const;
  gpu_step step_of(bool finishes, bool advances) const;
  void compute_some(imbrex::stream& s, const gpu_brick_range& which);
  void expect_step(imbrex::stream& s, std::uint32_t bricks) const;

  const model& model_;
  const gpu_around around_;
  const gpu_bricks bricks_;
  const brick_order halves_;
  std::optional<expected_atoms> expected_;
  imbrex::stream& compute_;
  std::uint32_t num_ = 0, num_ghosts_ = 0;
  buffer<vector4> x_[2];  ///< own atoms, then ghosts; x_[now_] is the state
  int now_ = 0;
  buffer<vector4> v_;
  buffer<std::int64_t> id_;
  buffer<std::uint32_t> first_, num_staged_;
  buffer<std::uint32_t> brick_order_;  ///< of `halves_`; empty where a step is one kernel
  buffer<gpu_staged> staged_, sent_;
  buffer<std::uint16_t> num_neighbours_, own_staged_;
  buffer<char> work_;  ///< the lists; while they are made anew, all that this takes
  gpu_chosen chosen_;
  gpu_lists lists_;
  buffer<std::uint32_t> ghost_first_, ghost_order_;
  buffer<found_memory> found_, on_host_;
  buffer<found_memory> nothing_found_;  ///< of the host: what to begin with
  std::uint32_t leavers_[most_gpu_targets + 1] = {};
  buffer<double> sums_, total_, total_on_host_, slope_, embedding_;
  buffer<spline::coefficients> splines_[3];
  gpu_embedded metal_;
  gpu_retired retired_;
  std::vector<vector4> x_on_host_, v_on_host_;
  std::vector<std::int64_t> id_on_host_;
};

}  // namespace md
