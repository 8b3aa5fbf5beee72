#pragma once

#include <imbrex/imbrex.h>

#include <array>
#include <vector>

#include "chares/chare_deep_neighbours.h"
#include "decomposition.h"
#include "kernels/gpu_kernels.h"
#include "options.h"

namespace jacobi {

/// `--steps` on a GPU: an exchange before several iterations, as deep as they are many, with the neighbours beyond
/// edges and corners, too, and these iterations in one pass over memory, or few (see star_steps).
class gpu_deep_steps {
 public:
  /// Of a block with ghosts of `layout.depth`. `layout` must outlive it.
  template <class Chare>
  gpu_deep_steps(Chare& self, const options& o, const gpu_layout& layout)
      : around_(deep_neighbours(self.index(), self.extent(), o)),
        grid_(grid_of(layout, sides_of(around_), o.boundary.value)),
        formula_(o.formula),
        layout_(layout),
        halos_(imbrex::memory_kind::device, o.gpu.halos.value_or(imbrex::halo_path::device)) {
    const extents n = layout.size;
    const std::array<std::size_t, 3> sizes{static_cast<std::size_t>(n.nx), static_cast<std::size_t>(n.ny),
                                           static_cast<std::size_t>(n.nz)};
    for (const deep_neighbour& there : around_)
      halos_.connect(self, self.array(), there, there.cells(sizes, static_cast<std::size_t>(layout.depth)));
  }

  /// Enqueues `steps` iterations after one exchange, of `fields[parity]`; waits only until the messages that announce
  /// the neighbours' cells have come. Afterwards `parity` is that of the new state. With `keeps_previous` the other
  /// field then holds the state of one iteration before.
  imbrex::task<> advance(imbrex::stream* s, std::array<double*, 2> fields, int* parity, int steps, bool keeps_previous);

  /// Doubles that the halos of a block take, if it has neighbours everywhere.
  static std::int64_t halo_doubles(const gpu_layout& layout);

 private:
  static imbrex::star_grid grid_of(const gpu_layout& layout, const open_sides& open, double outside);
  void pack(imbrex::stream& s, const double* field);
  void unpack(imbrex::stream& s, double* field);
  void compute(imbrex::stream& s, const std::array<double*, 2>& fields, int* parity, int steps,
               bool keeps_previous) const;

  const std::vector<deep_neighbour> around_;
  const imbrex::star_grid grid_;
  const stencil formula_;
  const gpu_layout& layout_;
  imbrex::halo<double> halos_;
};

}  // namespace jacobi
