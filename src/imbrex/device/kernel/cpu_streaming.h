#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/// Stores past the caches, for kernels whose results nobody reads soon and which exceed the caches: each line of them
/// need not be read before it is overwritten.
namespace imbrex::detail {

/// Copies `n` values, whole lines of 64 bytes past the caches. Visible to other threads after `streamed_is_visible`.
template <class T>
inline void stream_out(T* to, const T* from, int n) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::size_t bytes = n > 0 ? static_cast<std::size_t>(n) * sizeof(T) : 0;
  auto* out = reinterpret_cast<std::byte*>(to);
  auto* in = reinterpret_cast<const std::byte*>(from);
#if defined(__SSE2__)
  constexpr std::size_t line = 64;
  const std::size_t before = (line - reinterpret_cast<std::uintptr_t>(out) % line) % line;
  if (bytes >= before + line) {
    if (before > 0) std::memcpy(out, in, before);
    out += before, in += before, bytes -= before;
    for (; bytes >= line; out += line, in += line, bytes -= line) {
      for (std::size_t i = 0; i < line; i += sizeof(__m128i)) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(out + i),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
      }
    }
  }
#endif
  if (bytes > 0) std::memcpy(out, in, bytes);
}

/// Asks for the lines of `n` values, to be read soon.
template <class T>
inline void prefetch(const T* from, int n) {
  constexpr int in_a_line = sizeof(T) < 64 ? static_cast<int>(64 / sizeof(T)) : 1;
  for (int i = 0; i < n; i += in_a_line) __builtin_prefetch(from + i);
}

/// Orders what was streamed on this thread before its later stores.
inline void streamed_is_visible() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace imbrex::detail
