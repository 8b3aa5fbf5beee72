#pragma once

#include <cstdint>

#include "forces/embedded_atom.h"
#include "system/atoms.h"

namespace imbrex {
class stream;
}

/// Molecular dynamics of one box on a GPU. Space is cut into bricks, whose atoms stand together in memory; a thread
/// block computes one brick: it copies all atoms within reach into shared memory, with the images of the period put in
/// place, and the lists name them there by 16 bits. So a step is one kernel, which reads positions and writes others.
/// In directions in which the whole system is cut into several boxes, atoms of other boxes are ghosts, which stand
/// behind the own ones (gpu_exchange.h); in others there are only images. Every function enqueues into the stream and
/// returns; memory is the GPU's.
namespace md {

struct gpu_bricks {
  int num[3] = {1, 1, 1};  ///< in x, y, z; none narrower than the reach
  double side[3] = {};
  double length[3] = {};  ///< of the period
  double reach = 0;
  // The box. Where it is not cut from the whole these are 0 and the length.
  bool cut[3] = {};
  double lo[3] = {}, hi[3] = {};
  double far_lo[3] = {}, far_hi[3] = {};  ///< where the boxes beside it end

  std::int64_t count() const { return static_cast<std::int64_t>(num[0]) * num[1] * num[2]; }
  /// With a layer of bricks for ghosts where the whole is cut.
  std::int64_t padded_count() const {
    std::int64_t n = 1;
    for (int d = 0; d < 3; ++d) n *= num[d] + (cut[d] ? 2 : 0);
    return n;
  }
};

/// Atoms to a brick, about; a thread block has as many threads.
inline constexpr int gpu_brick_threads = 256;

/// Of one brick, an atom's index and which image of it, 0 to 26, 13 being itself.
using gpu_staged = std::uint32_t;
inline constexpr unsigned gpu_index_bits = 27;

struct gpu_atoms {
  vector4* x = nullptr;
  vector4* v = nullptr;
  std::int64_t* id = nullptr;
};

/// What reneighbouring reports; on the GPU, then copied to the host.
struct gpu_findings {
  unsigned most_in_brick = 0;
  unsigned most_staged = 0;
  unsigned most_neighbours = 0;
  unsigned long long lost = ~0ull;  ///< the id of an atom beyond a period or the boxes around; all ones: none
};

struct gpu_lists {
  const std::uint32_t* first = nullptr;  ///< of each brick its first atom, and at the end their number
  gpu_staged* staged = nullptr;          ///< `stage_capacity` for each brick
  std::uint32_t* num_staged = nullptr;
  std::uint16_t* entries = nullptr;  ///< `rows` for each atom: those of a brick's atoms side by side, row after row
  std::uint16_t* num_neighbours = nullptr;
  unsigned stage_capacity = 0;
  unsigned rows = 0;
  /// Half lists: pairs inside a brick stand in one of the two lists. `own_staged`: of each brick the place of its first
  /// atom among the staged ones; `most_in_brick`: room for forces.
  bool half = false;
  std::uint16_t* own_staged = nullptr;
  unsigned most_in_brick = 0;
};

/// Ghosts by bricks, a layer of which lies around the box where the whole is cut.
struct gpu_ghosts {
  const std::uint32_t* first = nullptr;  ///< of each brick of the padded box, in `order`; and their number
  const std::uint32_t* order = nullptr;  ///< their places behind the own atoms; null: there are no ghosts
};

/// Wraps positions of atoms [first, end) where the box is the whole, and says where each atom belongs (`keys`; `order`
/// = first, first + 1, ...): leavers behind all others. `have_come`: from other boxes, to stay, though they stand
/// behind this one by a rounding.
void gpu_place(imbrex::stream& s, const gpu_bricks& b, std::uint32_t first, std::uint32_t end, bool have_come,
               gpu_atoms atoms, std::uint32_t* keys, std::uint32_t* order, gpu_findings* found);
/// Bytes of `scratch` that `gpu_sort` needs.
std::size_t gpu_sort_scratch(std::uint32_t n);
/// The greatest key of `gpu_place`, a leaver's, and of ghosts.
std::uint32_t gpu_last_key(const gpu_bricks& b);
std::uint32_t gpu_last_ghost_key(const gpu_bricks& b);
/// Sorts by key, none of which is beyond `last_key`; equal ones as they stood.
void gpu_sort(imbrex::stream& s, std::uint32_t last_key, std::uint32_t n, const std::uint32_t* keys,
              std::uint32_t* sorted_keys, const std::uint32_t* order, std::uint32_t* sorted_order, void* scratch,
              std::size_t scratch_bytes);
void gpu_reorder(imbrex::stream& s, std::uint32_t n, const std::uint32_t* order, gpu_atoms from, gpu_atoms to);
void gpu_find_bricks(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const std::uint32_t* sorted_keys,
                     std::uint32_t* first, gpu_findings* found);
/// Where `n` ghosts at `x` belong.
void gpu_place_ghosts(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const vector4* x, std::uint32_t* keys,
                      std::uint32_t* order);
/// Of each brick of the padded box its first ghost; `first` has one more.
void gpu_find_ghost_bricks(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const std::uint32_t* sorted_keys,
                           std::uint32_t* first);
/// Which atoms a brick needs, and the lists; ghosts stand at x + num_own. What has no room is left out and reported.
void gpu_build_lists(imbrex::stream& s, const gpu_bricks& b, const vector4* x, std::uint32_t num_own,
                     const gpu_ghosts& ghosts, const gpu_lists& lists, gpu_findings* found);

struct gpu_step {
  double cutoff_square = 0, epsilon = 1, sigma6 = 1;
  double half_kick = 0;  ///< a force times this is a velocity's change in half a step
  double dt = 0, mass = 1;
  bool finishes = true;  ///< the half step that led here has its second half
  bool advances = true;  ///< the next step's first half follows
  bool single = false;   ///< forces of pairs in single precision; positions, velocities and sums are double always
};
/// Bytes of shared memory that a block takes with doubles, lists being full; `embedded`: with the embedded atom method.
std::size_t gpu_step_shared(const gpu_lists& lists, bool embedded = false);
/// The same for forces inside a brick, with half lists.
std::size_t gpu_half_shared(const gpu_lists& lists);
/// The bricks that a kernel takes: the first `num` of `order`, or of all as they stand where that is null.
struct gpu_brick_range {
  const std::uint32_t* order = nullptr;
  std::uint32_t num = 0;
};
/// Forces on the atoms of these bricks, and both halves of the steps that meet there. `sums`: null, or 3 for each
/// brick: m v^2, energy, virial.
void gpu_go(imbrex::stream& s, const gpu_bricks& b, const gpu_brick_range& which, const gpu_step& step,
            const gpu_lists& lists, const vector4* x, vector4* next_x, vector4* v, double* sums);
/// A spline of `forces/embedded_atom.h` on the GPU.
struct gpu_spline {
  const spline::coefficients* cubics = nullptr;
  double per_step = 1;
  int last = 1;
};
struct gpu_embedded {
  double cutoff_square = 0;
  gpu_spline embedding, density, pair;
  double* slope = nullptr;   ///< of each atom, ghosts', too, F' of its density
  double* energy = nullptr;  ///< of each atom, F of its density
};
/// The embedded atom method's first half: slopes and energies of the own atoms. Those of ghosts are to be had before
/// the second.
void gpu_embed(imbrex::stream& s, const gpu_bricks& b, const gpu_embedded& metal, const gpu_lists& lists,
               const vector4* x);
/// As `gpu_go` for the embedded atom method, of whose parameters `step` has no cutoff, epsilon and sigma.
void gpu_go_embedded(imbrex::stream& s, const gpu_bricks& b, const gpu_step& step, const gpu_embedded& metal,
                     const gpu_lists& lists, const vector4* x, vector4* next_x, vector4* v, double* sums);
/// Adds up those of all bricks, always in the same order.
void gpu_add_sums(imbrex::stream& s, std::int64_t bricks, const double* sums, double* total);

}  // namespace md
