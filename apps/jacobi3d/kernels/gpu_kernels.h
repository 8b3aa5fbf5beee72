#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "decomposition.h"
#include "field/stencil.h"
#include "imbrex/device/star/resident/resident_rounds.h"
#include "imbrex/device/star/star_halos.h"
#include "kernels/gpu_layout.h"
#include "kernels/gpu_tiles.h"

namespace imbrex {
class stream;
}

/// The GPU kernels of Jacobi3D. Every function enqueues into the stream and returns. Fields are laid out by gpu_layout;
/// `in` and `out` are different fields; halo buffers are dense (see `face_cells`). Results have the same bits as those
/// of kernel.h. The memory must stay until the stream has passed; faces have less than 2^32 cells, and blocks at most
/// 2^31 - 1024 in each direction. Throws what `imbrex::launch` throws.
namespace jacobi {

using face_buffers = std::array<double*, num_faces>;
using const_face_buffers = std::array<const double*, num_faces>;

void gpu_fill(imbrex::stream& s, double* data, std::int64_t count, double value);

/// From the outermost cells on one side to a halo buffer, and from a halo buffer to the ghosts on one side.
void gpu_pack(imbrex::stream& s, const gpu_layout& layout, const double* field, face side, double* out);
void gpu_unpack(imbrex::stream& s, const gpu_layout& layout, double* field, face side, const double* in);

/// The same for all faces whose buffer is not null, in one kernel.
void gpu_pack_all(imbrex::stream& s, const gpu_layout& layout, const double* field, const face_buffers& out);
void gpu_unpack_all(imbrex::stream& s, const gpu_layout& layout, double* field, const const_face_buffers& in);

/// Updates all cells. With `ends.fixed` the ghosts on both x faces are known to hold `ends.value`. `backwards`, to
/// be alternated, allows to go from the last plane to the first: what the last update touched last is in the cache.
void gpu_update(imbrex::stream& s, const gpu_layout& layout, stencil formula, gpu_ends ends, const double* in,
                double* out, bool backwards = false);

/// Updates cells x0 <= x < x1 and so on.
void gpu_update_box(imbrex::stream& s, const gpu_layout& layout, stencil formula, const double* in, double* out,
                    std::int64_t x0, std::int64_t x1, std::int64_t y0, std::int64_t y1, std::int64_t z0,
                    std::int64_t z1);

/// Updates the cells that touch no ghost, and those that do. The two write different cells.
void gpu_update_interior(imbrex::stream& s, const gpu_layout& layout, stencil formula, const double* in, double* out);
void gpu_update_exterior(imbrex::stream& s, const gpu_layout& layout, stencil formula, const double* in, double* out);

/// Unpacks, updates all cells and packs in one kernel: what lies beyond a side is read from `halos_in` (null: it is
/// `ends.value`, which the ghosts hold, too), and the new field's outermost cells are written to `halos_out`, too
/// (null: not), which may be memory of a peer. Ghosts on sides with a halo are neither read nor written. Halos are
/// aligned to 16 bytes where nx is even; planes with their padding have less than 2^31 cells. Launched once for many
/// blocks where rounds are repeated.
void gpu_update_fused(imbrex::stream& s, const gpu_layout& layout, stencil formula, gpu_ends ends, const double* in,
                      double* out, const const_face_buffers& halos_in, const face_buffers& halos_out,
                      bool backwards = false);

/// Does `steps` iterations of the block `g` (see star_steps): of `field`, whose ghosts on open sides are as deep as
/// there are steps. Both fields are overwritten. Returns the one that holds the new state; with `keeps_previous` the
/// other one holds that of one iteration before.
double* gpu_several_steps(imbrex::stream& s, const imbrex::star_grid& g, const gpu_layout& layout, stencil formula,
                          double* field, double* other, int steps, bool keeps_previous);

/// Does iterations of the field, which has no ghosts, together with the GPUs of `rounds` (see star_resident).
void gpu_resident(imbrex::stream& s, const imbrex::star_grid& g, const gpu_layout& layout, stencil formula,
                  double* field, const imbrex::resident_rounds& rounds);

/// Its exchange, as deep as the layout's ghosts (see star_pack).
void gpu_pack_deep(imbrex::stream& s, const imbrex::star_grid& g, const gpu_layout& layout, const double* field,
                   std::span<const imbrex::star_halo> halos);
void gpu_unpack_deep(imbrex::stream& s, const imbrex::star_grid& g, const gpu_layout& layout, double* field,
                     std::span<const imbrex::star_halo> halos);

/// Sets all cells to a state of initial_state.h; `cells` is where the block lies in the grid. The product is that of
/// three tables in device memory, which start with the block's first cell.
void gpu_set_hot_face(imbrex::stream& s, const gpu_layout& layout, double* field, const box& cells);
void gpu_set_random(imbrex::stream& s, const gpu_layout& layout, double* field, extents grid, const box& cells,
                    std::uint64_t seed);
void gpu_set_product(imbrex::stream& s, const gpu_layout& layout, double* field, const double* of_x, const double* of_y,
                     const double* of_z);

/// Adds the block's share of the field's hash (see field_hash.h) to `*result`, in device memory.
void gpu_hash(imbrex::stream& s, const gpu_layout& layout, const double* field, extents grid, const box& cells,
              unsigned long long* result);

/// Adds the squares of `after - before` of all cells to the `exact_sum::num_limbs` limbs in device memory, exactly: the
/// limbs are those of an `exact_sum` not yet normalised. Up to 2^20 calls may add to the same limbs.
void gpu_change(imbrex::stream& s, const gpu_layout& layout, const double* before, const double* after,
                long long* limbs);

}  // namespace jacobi
