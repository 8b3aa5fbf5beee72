#pragma once

#include <span>
#include <string>

/// Steps of the factorisation on tiles of b by b elements by columns, on the calling thread, by OpenBLAS.
namespace cholesky {

using tile = std::span<double>;
using const_tile = std::span<const double>;

std::string host_library();
/// A task uses one thread: once, before any of them.
void host_library_single_threaded();

/// A = L L^T, into the lower triangle; the work space is for others. Throws `error` where the matrix is not positive
/// definite.
void host_potrf(tile a, int b, tile work_space, std::span<int> info);
/// A = A L^-T
void host_trsm(const_tile l, tile a, int b);
/// The same in two steps, as GPUs do it: L^-1, zeros above, of which `unit` is not needed here; and A times that.
void host_invert(const_tile l, const_tile unit, tile inverse, int b);
void host_solve(const_tile inverse, tile a, int b, tile work_space);
/// C = C - A A^T, the lower triangle
void host_syrk(const_tile a, tile c, int b);
/// C = C - A B^T
void host_gemm(const_tile a, const_tile at, tile c, int b);

/// \name What the check consists of: y += L^T (1, 1, ...) and z += L y, of tile (i, j)
///@{
void times_transposed(const_tile l, tile y, int b, bool diagonal);
void times(const_tile l, const_tile y, tile z, int b, bool diagonal);
///@}

}  // namespace cholesky
