#pragma once

#include <cstdint>

namespace md {

/// The generator of Park and Miller (CACM 31, 1988, 1192) by Schrage's way, without the mask, as the reference has it;
/// in 64 bits, so that seeds beyond 2^31, of systems of more than 2^28 cells, are seeds like others.
class park_miller {
 public:
  explicit park_miller(std::int64_t seed) : state_(seed) {}

  /// In (0, 1].
  double next() {
    const std::int64_t k = state_ / quotient;
    state_ = multiplier * (state_ - k * quotient) - remainder * k;
    if (state_ <= 0) state_ += modulus;
    return static_cast<double>(state_) * (1.0 / static_cast<double>(modulus));
  }
  void skip(int n) {
    for (int i = 0; i < n; ++i) next();
  }

 private:
  static constexpr std::int64_t multiplier = 16807, modulus = 2147483647, quotient = 127773, remainder = 2836;
  std::int64_t state_;
};

}  // namespace md
