#pragma once

#include <cstddef>
#include <cstdint>

namespace imbrex {

/// The bytes of `n` elements of that size. Throws `usage_error` where no machine has so many: a size that was computed
/// wrong, such as -1, is one as an unsigned number.
std::uint64_t bytes_of(std::size_t n, std::size_t element_bytes);
/// Of `nx` times `ny` times `nz` elements; the same error.
std::size_t elements_of(std::size_t nx, std::size_t ny, std::size_t nz);

}  // namespace imbrex
