#pragma once

#if defined(__CUDACC_RTC__)

namespace imbrex {

/// NVRTC has no headers of C++: kernels load and store it by IX_LOAD_HALF and IX_STORE_HALF.
struct half {
  unsigned short bits;
};

}  // namespace imbrex

#else

#include <bit>
#include <cstdint>

namespace imbrex {

namespace detail {
/// \name The bits of binary16 by integers, where the compiler has no such type
///@{
constexpr std::uint16_t half_bits_of(float value) {
  const auto all = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(all >> 16 & 0x8000U);
  const std::uint32_t size = all & 0x7FFFFFFFU;
  if (size > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U | (size >> 13 & 0x3FFU));
  if (size >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
  // Below 2^-14 a unit is 2^-24: the addition rounds to it.
  if (size < 0x38800000U) {
    const float shifted = std::bit_cast<float>(size) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t odd = size >> 13 & 1U;
  return static_cast<std::uint16_t>(sign | ((size - 0x38000000U + 0xFFFU + odd) >> 13));
}
constexpr float value_of_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t size = bits & 0x7FFFU;
  if (size >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | (size & 0x3FFU) << 13);
  if (size >= 0x0400U) return std::bit_cast<float>(sign | ((size << 13) + 0x38000000U));
  const float small = static_cast<float>(size) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(small));
}
///@}
}  // namespace detail

/// A number of 16 bits (IEEE 754 binary16: 11 bits of precision, up to 65504), for memory: what halves the bytes of a
/// field. It is computed with as `float`, into which it converts exactly; a float becomes the nearest one, of two the
/// even, and infinite from 65520 on. Kernels of the dialect call it IX_HALF; bit by bit what CUDA's `__half` is.
struct half {
  std::uint16_t bits;

  half() = default;
#if defined(__FLT16_MANT_DIG__) && !defined(__CUDACC__)
  explicit constexpr half(float value) : bits(std::bit_cast<std::uint16_t>(static_cast<_Float16>(value))) {}
  constexpr operator float() const { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
#else
  explicit constexpr half(float value) : bits(detail::half_bits_of(value)) {}
  constexpr operator float() const { return detail::value_of_half(bits); }
#endif
};

}  // namespace imbrex

#endif
