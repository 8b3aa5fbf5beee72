#pragma once

#include <array>
#include <cstdint>

#include "decomposition.h"
#include "field/stencil.h"
#include "support/instruction_set.h"

/// The Jacobi update of one block (Eq. 1 of the 2020 paper; the weighted form is that of the 2024 paper), on the
/// calling thread. Every cell becomes
///
///   mean       ((((((c + xm) + xp) + ym) + yp) + zm) + zp) * (1.0/7.0)
///   weighted   alpha*c + beta*(((((xm + xp) + ym) + yp) + zm) + zp)
///
/// in IEEE double, without contraction to FMA: the same bits from every instruction set, store policy and sub-range.
namespace jacobi {

/// How results are written: through the caches, or past them (when the fields exceed the last-level cache anyway, that
/// saves reading each line before it is overwritten).
enum class store_policy { cached, streaming };

using apps::best_instruction_set;
using apps::instruction_set;
using apps::name;

/// `streaming` if so many bytes of fields, all those that this process updates in one iteration, exceed the last-level
/// cache.
store_policy choose_store_policy(std::uint64_t working_set_bytes);

/// Size in bytes of the last-level cache; a guess where the system does not say.
std::uint64_t last_level_cache_bytes();

/// What one update reads and writes. Rows are aligned to 64 bytes, padded to `pitch` and their padding is 0 (see
/// block_field.h). Owns nothing. The ghost pointers need not point into the block: a face of a neighbour in the same
/// process can be read where it is.
struct block_view {
  extents size;
  std::int64_t pitch = 0;
  const double* in = nullptr;
  double* out = nullptr;          ///< never overlaps `in` or a ghost
  const double* ghost_x[2] = {};  ///< lo, hi: one value for each row, index z*ny + y
  const double* ghost_y[2] = {};  ///< lo, hi: nz rows, `ghost_y_stride` doubles apart
  const double* ghost_z[2] = {};  ///< lo, hi: ny rows, `pitch` doubles apart
  std::int64_t ghost_y_stride[2] = {};
  double* pack_x[2] = {};  ///< lo, hi: where the new field's x faces go, laid out like ghost_x; null: nowhere
  double* pack_y[2] = {};  ///< lo, hi: where its y faces go, nz rows of `pitch`; null: nowhere
};

/// Rows z0 <= z < z1, y0 <= y < y1 of a block.
struct row_range {
  std::int64_t z0 = 0, z1 = 0, y0 = 0, y1 = 0;
  static row_range all(extents size) { return {0, size.nz, 0, size.ny}; }
};

/// A set of faces.
struct face_set {
  unsigned bits = 0;
  constexpr bool has(face f) const { return (bits >> static_cast<int>(f)) & 1u; }
  constexpr face_set with(face f) const { return {bits | (1u << static_cast<int>(f))}; }
};

class update_kernel {
 public:
  update_kernel(stencil formula, store_policy policy, instruction_set isa = best_instruction_set());

  /// Updates whole rows. The ghosts that those rows touch must be there. On return the results are visible to whoever
  /// synchronises with this thread, streaming stores included. The padding of the rows of `out` becomes 0.
  /// The ghosts beyond `unread`, x faces, are not read: the cells next to those get any value.
  void update(const block_view& view, row_range rows, face_set unread = {}) const;
  void update(const block_view& view) const { update(view, row_range::all(view.size)); }

  /// Updates all cells that need none of the ghosts in `pending` (and does not read those ghosts); cells next to other
  /// faces are updated too. Any value may be left in the remaining cells.
  void update_interior(const block_view& view, face_set pending) const;

  /// Updates the cells that `update_interior` with the same `pending` left. Call it after that one.
  void update_exterior(const block_view& view, face_set pending) const;

  instruction_set isa() const { return isa_; }
  store_policy policy() const { return policy_; }

 private:
  void update_rows(const block_view& view, row_range rows, face_set unread) const;

  stencil formula_;
  store_policy policy_;
  instruction_set isa_;
};

}  // namespace jacobi
