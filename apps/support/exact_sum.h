#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace apps {

/// An exact sum of doubles: a fixed-point number wide enough for every finite double and 2^60 of them, so that the
/// result depends on neither the order nor the grouping of the additions. Used where a decision must fall the same way
/// for any decomposition.
///
/// The number is kept in limbs of 32 bits inside int64; merging two sums is adding their limbs one by one, which is
/// what a reduction over `std::array<std::int64_t, num_limbs>` by `+` does. Up to 2^30 sums may be merged before a
/// normalisation (`merge` and `limbs` normalise). One thread at a time.
class exact_sum {
 public:
  /// Limb i counts units of 2^(32*i - 1074); the last limb counts values that were infinite or not a number.
  static constexpr int num_limbs = 69;
  using limb_array = std::array<std::int64_t, num_limbs>;

  exact_sum() = default;
  /// From the element-wise sum of up to 2^30 results of `limbs`.
  explicit exact_sum(const limb_array& limbs) : limbs_(limbs) { normalise(); }

  void add(double value) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
    if (exponent == 0x7ff) {
      ++limbs_[top + 1];
      return;
    }
    if (exponent != 0) mantissa |= std::uint64_t{1} << 52;
    const int position = exponent != 0 ? exponent - 1 : 0;
    const auto wide = static_cast<wide_bits>(mantissa) << (position % 32);
    const std::int64_t sign = bits >> 63 != 0 ? -1 : 1;
    std::int64_t* limb = limbs_.data() + position / 32;
    limb[0] += sign * static_cast<std::int64_t>(static_cast<std::uint64_t>(wide) & 0xffffffffu);
    limb[1] += sign * static_cast<std::int64_t>(static_cast<std::uint64_t>(wide >> 32) & 0xffffffffu);
    limb[2] += sign * static_cast<std::int64_t>(static_cast<std::uint64_t>(wide >> 64));
    if (++pending_ == most_pending) normalise();
  }

  void merge(const exact_sum& other) {
    const limb_array theirs = other.limbs();
    normalise();
    for (int i = 0; i < num_limbs; ++i) limbs_[i] += theirs[i];
    normalise();
  }

  /// The sum as limbs, normalised: equal sums have equal limbs.
  limb_array limbs() const {
    exact_sum copy = *this;
    copy.normalise();
    return copy.limbs_;
  }

  /// The sum, correctly rounded to nearest (ties to even). Not a number if anything added was not finite.
  double to_double() const {
    exact_sum magnitude = *this;
    magnitude.normalise();
    if (magnitude.limbs_[top + 1] != 0) return std::numeric_limits<double>::quiet_NaN();
    const bool negative = magnitude.limbs_[top] < 0;
    if (negative) {
      for (int i = 0; i <= top; ++i) magnitude.limbs_[i] = -magnitude.limbs_[i];
      magnitude.normalise();
    }
    const double value = magnitude.round();
    return negative ? -value : value;
  }

 private:
  __extension__ typedef unsigned __int128 wide_bits;

  static constexpr int top = num_limbs - 2;  ///< the limb that carries the sign and the headroom
  static constexpr std::int64_t most_pending = std::int64_t{1} << 30;

  /// Brings every limb below the top one into [0, 2^32).
  void normalise() {
    std::int64_t carry = 0;
    for (int i = 0; i < top; ++i) {
      const std::int64_t value = limbs_[i] + carry;
      carry = value >> 32;
      limbs_[i] = value & 0xffffffff;
    }
    limbs_[top] += carry;
    pending_ = 0;
  }

  /// Precondition: normalised, not negative.
  double round() const {
    int high = top;
    while (high > 2 && limbs_[high] == 0) --high;
    wide_bits bits = 0;
    for (int i = high; i > high - 3; --i) bits = bits << 32 | static_cast<std::uint64_t>(limbs_[i]);
    bool sticky = false;
    for (int i = 0; i < high - 2; ++i) sticky |= limbs_[i] != 0;
    int exponent = 32 * (high - 2) - 1074;
    const auto upper = static_cast<std::uint64_t>(bits >> 64);
    const int length =
        upper != 0 ? 128 - std::countl_zero(upper) : 64 - std::countl_zero(static_cast<std::uint64_t>(bits));
    if (length <= 53) return std::ldexp(static_cast<double>(static_cast<std::uint64_t>(bits)), exponent);
    const int dropped = length - 53;
    const auto half = static_cast<wide_bits>(1) << (dropped - 1);
    const auto rest = bits & (half * 2 - 1);
    auto kept = static_cast<std::uint64_t>(bits >> dropped);
    if (rest > half || (rest == half && (sticky || (kept & 1u) != 0))) ++kept;
    return std::ldexp(static_cast<double>(kept), exponent + dropped);
  }

  limb_array limbs_{};
  std::int64_t pending_ = 0;
};

}  // namespace apps
