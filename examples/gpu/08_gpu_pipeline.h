#pragma once

#include <cstddef>
#include <cstdint>

namespace imbrex {
class stream;
}

constexpr std::uint32_t modulus = 2147483647;  // a prime, 2^31 - 1

/// The x' with x * x' = 1 modulo `modulus`, for x other than 0: by Fermat x to the power of modulus - 2. Dear to find,
/// cheap to check. As it is constexpr, the kernel may call it, too (nvcc's --expt-relaxed-constexpr).
constexpr std::uint32_t inverse(std::uint32_t x) {
  std::uint64_t result = 1, square = x;
  for (std::uint32_t power = modulus - 2; power != 0; power /= 2) {
    if (power % 2 != 0) result = result * square % modulus;
    square = square * square % modulus;
  }
  return static_cast<std::uint32_t>(result);
}

/// Replaces n numbers by their inverses on a GPU, in the order of stream `s`: in 08_gpu_pipeline.cu. Returns at once.
void gpu_invert(imbrex::stream& s, std::uint32_t* numbers, std::size_t n);
