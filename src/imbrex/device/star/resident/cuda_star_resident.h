#pragma once

#include "imbrex/device/cuda/cuda_launch.h"
#include "imbrex/device/kernel_cost.h"
#include "imbrex/device/star/resident/resident_kernel.h"
#include "imbrex/device/star/resident/resident_rounds.h"

/// For `.cu` files.
namespace imbrex {

#if defined(__CUDACC__)
namespace detail {

template <int depth, class Rule>
void launch_resident(cuda_launch& at, const resident_task& t, const Rule& rule) {
  using shape = resident_shape<depth>;
  void (*const kernel)(resident_task, Rule) =
      t.nx % 2 == 0 ? resident_kernel<shape, true, Rule> : resident_kernel<shape, false, Rule>;
  resident_task task = t;
  Rule copy = rule;
  void* places[] = {&task, &copy, nullptr};
  at.run(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(t.rounds.cut.num_tiles())),
         dim3(shape::threads), shape::bytes, values_of(kernel, places));
}

}  // namespace detail

/// Does `rounds.num` iterations of a stencil of seven cells (a star) as one kernel on each GPU of a `resident_star`:
/// the cells stay in the multiprocessors' registers meanwhile, and the GPUs talk to each other without the host, whose
/// PEs are free. For blocks that fit there (24 x 24 x 24 cells for each multiprocessor: 192 x 192 x 48 on an H100 or
/// H200) the fastest way (docs/performance.md), with the same bits as single steps.
///
/// `field` is the current state, cell (0, 0, 0) of `g`, and has the new one afterwards; no ghosts are read or written,
/// nor is memory for them needed. Neighbours are in z alone. `rule` is as for `star_steps`, but its operands are all of
/// the state before. `rounds` come from `resident_star::rounds`, the same number on all GPUs, one launch for each time
/// that they are asked for.
///
/// Returns at once; all happens in the order of `s`, and ends when the last step is done. The kernels of all GPUs have
/// to run at the same time: one that waits for another of them in the program would never end; after a minute of
/// waiting the kernel fails. `name`, of static lifetime, stands for it in traces and errors. Nothing is done with no
/// steps, or no cells. Throws what `launch` throws, and `usage_error` where the above does not hold as far as it can be
/// seen.
template <class Rule>
void star_resident(stream& s, const char* name, const star_grid& g, double* field, const resident_rounds& rounds,
                   const Rule& rule) {
  detail::check_resident(name, g, field, rounds);
  if (rounds.num == 0 || rounds.cut.num_tiles() == 0) return;
  detail::cuda_launch at(s, name);
  detail::resident_task t;
  t.field = field;
  t.pitch = g.pitch;
  t.plane = g.plane;
  t.nx = g.nx;
  t.ny = g.ny;
  t.nz = g.nz;
  t.outside = g.outside;
  t.rounds = rounds;
  // What a step takes (measured: docs/design/0025), said in operations, since memory has no part in it. Three shallow
  // tiles would have room on a multiprocessor that has one.
  const bool is_shallow = rounds.cut.depth == resident_cut::shallow;
  expect(s, {0, (is_shallow ? 46.0 : 105.0) * g.nx * g.ny * g.nz * rounds.num});
  if (is_shallow) {
    detail::launch_resident<resident_cut::shallow>(at, t, rule);
  } else {
    detail::launch_resident<resident_cut::deep>(at, t, rule);
  }
}
#endif

}  // namespace imbrex
