#pragma once

#include "imbrex/device/cuda/cuda_launch.h"
#include "imbrex/device/kernel_cost.h"
#include "imbrex/device/star/star_grid.h"
#include "imbrex/device/star/star_kernel.h"

/// For `.cu` files.
namespace imbrex {

namespace detail {

/// The GPU that a launch goes to, as far as passes are cut for it.
struct star_machine {
  int cluster = 2;
  int multiprocessors = 132;
};
/// `kernel` is the one for single thread blocks. Throws `device_error` when it cannot run there.
star_machine star_machine_of(const cuda_launch& at, const void* kernel);

}  // namespace detail

#if defined(__CUDACC__)
namespace detail {

/// What a pass takes, as bytes of memory: 1.4 to 1.5 times those of one step (measured: one H200, large blocks).
constexpr kernel_cost star_cost(const star_box& b, int steps) {
  const double cells = static_cast<double>(b.x1 - b.x0) * (b.y1 - b.y0) * (b.z1 - b.z0);
  return {(1.3 + 0.05 * steps) * 2 * sizeof(double) * cells, 0};
}

template <int steps, class Rule>
void star_pass(stream& s, const char* name, const star_grid& g, int left_after, const double* in, double* out,
               const Rule& rule) {
  cuda_launch at(s, name);
  void (*const pair_kernel)(star_task, Rule) = star_pair_kernel<steps, Rule>;
  void (*const kernel)(star_task, Rule) = star_kernel<steps, Rule>;
  const auto address = [](void (*k)(star_task, Rule)) { return reinterpret_cast<const void*>(k); };
  const star_machine m = star_machine_of(at, address(kernel));
  star_task t;
  t.in = in;
  t.out = out;
  t.pitch = g.pitch;
  t.plane = g.plane;
  t.cut = star_cut::of(written_by_pass(g, left_after), steps, m.cluster, m.multiprocessors);
  t.there = domain(g);
  t.readable = grown(g, left_after + steps);
  t.outside = g.outside;
  expect(s, star_cost(t.cut.box, steps));
  Rule copy = rule;
  void* places[] = {&t, &copy, nullptr};
  const bool in_pairs = m.cluster > 1;
  const std::size_t shared = in_pairs ? star_shared<steps, 2>::bytes : star_shared<steps, 1>::bytes;
  at.run(address(in_pairs ? pair_kernel : kernel), dim3(static_cast<unsigned>(t.cut.num_blocks())),
         dim3(32, star_shape::warps), shared, values_of(kernel, places));
}

template <class Rule>
void star_pass_of(int steps, stream& s, const char* name, const star_grid& g, int left_after, const double* in,
                  double* out, const Rule& rule) {
  switch (steps) {
    case 1: return star_pass<1>(s, name, g, left_after, in, out, rule);
    case 2: return star_pass<2>(s, name, g, left_after, in, out, rule);
    case 3: return star_pass<3>(s, name, g, left_after, in, out, rule);
    default: return star_pass<4>(s, name, g, left_after, in, out, rule);
  }
}

}  // namespace detail

/// Does `steps` iterations of a stencil of seven cells (a star), four of them in one pass over memory: a stencil is
/// bound by memory, and goes so up to 2.8 times as fast (one H200, 768^3: docs/performance.md), with the same bits.
///
/// `field` is the current state and `other` memory of the same form; both are overwritten. Returns the one that holds
/// the new state: of the block's own cells only. With `star_last_step::alone` the other one holds the state of one
/// iteration before.
///
/// Around the block, on sides that are open, `field` must hold the neighbours' cells `steps` deep, and both fields'
/// memory must reach from x = -steps to nx + steps, each rounded up to an even number. `field` and `other` point to
/// cell (0, 0, 0), in memory of the stream's GPU, and are multiples of 16 bytes. A block has less than 2^30 cells in
/// each direction.
///
/// `rule` says how a cell is computed, in double precision, and is copied:
///
///     struct mean {
///       __host__ __device__ double in_plane(double here, double west, double east, double south, double north,
///                                           double below) const { return here + west + east + south + north + below; }
///       __host__ __device__ double complete(double sum, double here, double above) const { return (sum + above) / 7; }
///     };
///
/// West is x - 1, south y - 1, below z - 1. The new value is `complete(in_plane(...), here, above)`: in this order, so
/// that a thread keeps one number of a cell that waits for the plane above. (The compiler may contract products and
/// sums: `__dmul_rn` and `__dadd_rn` have it not.)
///
/// Returns at once; all happens in the order of `s`. `name`, of static lifetime, stands for it in traces and errors.
/// Nothing is done with no steps, or no cells. Throws what `launch` throws, `usage_error` where the above does not hold
/// as far as it can be seen, and `device_error` for GPUs before compute capability 8.0. From 9.0 on two thread blocks
/// share what lies between them (clusters).
template <class Rule>
double* star_steps(stream& s, const char* name, const star_grid& g, double* field, double* other, int steps,
                   const Rule& rule, star_last_step last = star_last_step::fused) {
  detail::check_star(name, g, field, other, steps);
  if (grown(g, 0).is_empty()) return field;
  const int apart = last == star_last_step::alone ? 1 : 0;
  for (int left = steps; left > 0;) {
    const int now = left > apart ? detail::steps_of_next_pass(left - apart) : left;
    left -= now;
    detail::star_pass_of(now, s, name, g, left, field, other, rule);
    double* const written = other;
    other = field;
    field = written;
  }
  return field;
}
#endif

}  // namespace imbrex
