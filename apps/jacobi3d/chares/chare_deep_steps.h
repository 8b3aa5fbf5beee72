#pragma once

#include <imbrex/imbrex.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chares/block_place.h"
#include "chares/chare_deep_neighbours.h"
#include "field/aligned_array.h"
#include "field/deep_field.h"
#include "kernels/kernel.h"
#include "support/exact_sum.h"

namespace jacobi {

/// An exchange before several iterations (`--steps`), as deep as they are many, with the neighbours beyond edges and
/// corners, too (see deep_field.h).
class deep_steps {
 public:
  template <class Chare>
  deep_steps(Chare& self, const block_place& at)
      : around_(deep_neighbours(self.index(), self.extent(), at.given)),
        field_(at.cells.size, at.given.steps, sides_of(around_), at.given.boundary.value),
        kernel_(at.given.formula, store_policy::cached) {
    const extents n = at.cells.size;
    const std::array<std::size_t, 3> sizes{static_cast<std::size_t>(n.nx), static_cast<std::size_t>(n.ny),
                                           static_cast<std::size_t>(n.nz)};
    for (const auto& there : around_)
      halos_.connect(self, self.array(), there, there.cells(sizes, static_cast<std::size_t>(at.given.steps)));
  }

  /// Enqueues `steps` iterations after one exchange.
  imbrex::task<> advance(imbrex::stream_set* streams, int steps, int num_passes);
  void set_initial(const block_place& at);
  cell_rows current();
  void add_changes(apps::exact_sum& sum);
  template <class Archive>
  void serialize(Archive& ar) {
    double* const cells = room();
    if constexpr (!Archive::is_loading) field_.copy_current(cells);
    ar.bytes(cells, static_cast<std::size_t>(cells_.size()) * sizeof(double));
    if constexpr (Archive::is_loading) field_.set_current(cells);
  }

 private:
  double* room();

  std::vector<deep_neighbour> around_;
  deep_field field_;
  update_kernel kernel_;
  imbrex::halo<double> halos_;
  aligned_array cells_;  ///< a copy of the block's own, where one is asked for
};

/// How dear cells of x faces are when blocks are cut: those of deep halos are single cells in many rows.
inline std::int64_t x_face_weight(const options& o) { return o.steps > 1 ? 2 : 1; }

/// Bytes that all blocks of a decomposition take on the host. Throws usage_error when blocks are too small for
/// `--steps`.
std::uint64_t host_bytes_of_all_blocks(const decomposition& blocks, const options& o);

}  // namespace jacobi
