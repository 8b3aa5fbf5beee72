#pragma once

#include <cstdint>

#include "forces/embedded_atom.h"
#include "system/atoms.h"

namespace imbrex {
class stream;
}

/// Molecular dynamics of a whole periodic box on one GPU. Space is cut into bricks, whose atoms stand together in
/// memory; a thread block computes one brick: it copies all atoms within reach into shared memory, with the images of
/// the period put in place, and the lists name them there by 16 bits. So a step is one kernel, which reads positions
/// and writes others. Every function enqueues into the stream and returns; memory is the GPU's.
namespace md {

struct gpu_bricks {
  int num[3] = {1, 1, 1};  ///< in x, y, z; none narrower than the reach
  double side[3] = {};
  double length[3] = {};  ///< of the box
  double reach = 0;

  std::int64_t count() const { return static_cast<std::int64_t>(num[0]) * num[1] * num[2]; }
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
  unsigned lost = 0xffffffffu;  ///< an atom that is beyond one period, by its place; all ones: none
};

struct gpu_lists {
  const std::uint32_t* first = nullptr;  ///< of each brick its first atom, and at the end their number
  gpu_staged* staged = nullptr;          ///< `stage_capacity` for each brick
  std::uint32_t* num_staged = nullptr;
  std::uint16_t* entries = nullptr;  ///< `rows` for each atom: those of a brick's atoms side by side, row after row
  std::uint16_t* num_neighbours = nullptr;
  unsigned stage_capacity = 0;
  unsigned rows = 0;
};

/// Wraps positions into the box and says where each atom belongs (`keys`, `order` = 0, 1, ...).
void gpu_place(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, gpu_atoms atoms, std::uint32_t* keys,
               std::uint32_t* order, gpu_findings* found);
/// Bytes of `scratch` that `gpu_sort` needs.
std::size_t gpu_sort_scratch(std::uint32_t n);
/// Sorts by key, equal ones as they stood.
void gpu_sort(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const std::uint32_t* keys,
              std::uint32_t* sorted_keys, const std::uint32_t* order, std::uint32_t* sorted_order, void* scratch,
              std::size_t scratch_bytes);
void gpu_reorder(imbrex::stream& s, std::uint32_t n, const std::uint32_t* order, gpu_atoms from, gpu_atoms to);
void gpu_find_bricks(imbrex::stream& s, const gpu_bricks& b, std::uint32_t n, const std::uint32_t* sorted_keys,
                     std::uint32_t* first, gpu_findings* found);
/// Which atoms a brick needs, and the lists. What has no room is left out and reported.
void gpu_build_lists(imbrex::stream& s, const gpu_bricks& b, const vector4* x, const gpu_lists& lists,
                     gpu_findings* found);

struct gpu_step {
  double cutoff_square = 0, epsilon = 1, sigma6 = 1;
  double half_kick = 0;  ///< a force times this is a velocity's change in half a step
  double dt = 0, mass = 1;
  bool finishes = true;  ///< the half step that led here has its second half
  bool advances = true;  ///< the next step's first half follows
};
/// Bytes of shared memory that a block takes; `embedded`: with the embedded atom method.
std::size_t gpu_step_shared(const gpu_lists& lists, bool embedded = false);
/// Forces on all atoms, and both halves of the steps that meet there. `sums`: null, or 3 for each brick: m v^2, energy,
/// virial.
void gpu_go(imbrex::stream& s, const gpu_bricks& b, const gpu_step& step, const gpu_lists& lists, const vector4* x,
            vector4* next_x, vector4* v, double* sums);
/// A spline of `forces/embedded_atom.h` on the GPU.
struct gpu_spline {
  const spline::coefficients* cubics = nullptr;
  double per_step = 1;
  int last = 1;
};
struct gpu_embedded {
  double cutoff_square = 0;
  gpu_spline embedding, density, pair;
  double* slope = nullptr;   ///< of each atom, F' of its density
  double* energy = nullptr;  ///< of each atom, F of its density
};
/// As `gpu_go` for the embedded atom method, of whose parameters `step` has no cutoff, epsilon and sigma: two kernels.
void gpu_go_embedded(imbrex::stream& s, const gpu_bricks& b, const gpu_step& step, const gpu_embedded& metal,
                     const gpu_lists& lists, const vector4* x, vector4* next_x, vector4* v, double* sums);
/// Adds up those of all bricks, always in the same order.
void gpu_add_sums(imbrex::stream& s, std::int64_t bricks, const double* sums, double* total);

}  // namespace md
