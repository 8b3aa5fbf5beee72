#include "imbrex/base/element_bytes.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;  // rounded up it is still a number
}

std::uint64_t bytes_of(std::size_t n, std::size_t element_bytes) {
  std::uint64_t bytes = 0;
  if (!__builtin_mul_overflow(n, element_bytes, &bytes) && bytes <= most_bytes) return bytes;
  throw usage_error(fmt::format(
      "{} elements of {} bytes are more than any machine has{}: give the size that is meant", n, element_bytes,
      static_cast<std::int64_t>(n) < 0 ? fmt::format(" ({} as an unsigned number)", static_cast<std::int64_t>(n))
                                       : std::string()));
}

std::size_t elements_of(std::size_t nx, std::size_t ny, std::size_t nz) {
  std::size_t n = 0;
  if (!__builtin_mul_overflow(nx, ny, &n) && !__builtin_mul_overflow(n, nz, &n)) return n;
  throw usage_error(
      fmt::format("{} x {} x {} elements are more than any machine has: give the extent that is meant", nx, ny, nz));
}

}  // namespace imbrex
