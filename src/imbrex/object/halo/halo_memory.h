#pragma once

#include <cstddef>
#include <numeric>
#include <utility>

#include "imbrex/device/buffer.h"
#include "imbrex/device/stream.h"

namespace imbrex::detail {

/// What a halo sends from in every other round: for one neighbour after the other.
template <class T>
struct halo_memory {
  buffer<T> out;
  buffer<T> on_host;  ///< host-staged: the same, pinned
};

/// So many bytes for several neighbours are copied to the host at once, and sent when all are there.
inline constexpr std::size_t bytes_of_halo_copy = 256 << 10;

/// Memory for a neighbour begins at a multiple of so many elements, and so at one of 64 bytes.
constexpr std::size_t elements_in_step(std::size_t bytes_of_element) {
  return 64 / std::gcd(std::size_t{64}, bytes_of_element);
}

/// At least `n` elements, some more where there have been fewer; what was there is lost. What `s` still does with it
/// it does (null: nothing).
template <class T>
void make_halo_room(buffer<T>& b, device& d, std::size_t n, memory_kind kind, stream* s) {
  if (n <= b.size() && b.kind() == kind_on(d, kind)) return;
  const std::size_t more = b.size() == 0 ? 0 : n / 64;
  if (s != nullptr && b.size() > 0) s->then("outgrown", [held = std::move(b)] {});
  b = buffer<T>(d, n + more, kind);
}

}  // namespace imbrex::detail
