#pragma once

#include <cstddef>
#include <cstdint>

namespace imbrex {

class collection;

/// Brings a changing array back to fixed numbers (`reducer`), once it has come to rest: after some reductions without a
/// change the root asks all PEs for their elements, up the PE tree. When all are there it tells from which reduction on
/// the numbers hold. A PE where an element came or left since it answered, or that has touched that reduction already,
/// tells all others that the array still changes. One on each PE.
class census {
 public:
  explicit census(collection& array) : array_(array) {}

  /// Root: a reduction has completed.
  void reduction_completed();
  /// The root asks, the how-manieth time.
  void begin(std::uint32_t wave);
  /// A subtree has `count` elements, which have nothing to do with reductions from `first` on.
  void add(std::uint32_t wave, std::uint64_t count, std::uint32_t first);
  /// The root says that the numbers are fixed from reduction `from` on.
  void conclude(std::uint32_t wave, std::uint32_t from);
  /// The array changes, whatever was concluded in waves up to `wave`.
  void cancel(std::uint32_t wave);
  /// The wave whose numbers are in force, or were last.
  std::uint32_t wave_in_force() const { return in_force_; }

  /// An element came to live here, or left.
  void count_move() { ++moves_; }

 private:
  static constexpr std::uint32_t shortest_rest = 16;  // reductions
  static constexpr std::uint32_t longest_rest = 4096;
  static constexpr std::uint32_t ahead = 8;  // elements may contribute to so many while the answer is under way

  void answer();

  collection& array_;
  std::uint64_t moves_ = 0;
  std::uint64_t moves_answered_ = 0;
  std::uint32_t wave_ = 0;      // last begun
  std::uint32_t in_force_ = 0;  // 0: the numbers that the array was created with
  std::uint32_t cancelled_ = 0;
  bool any_cancelled_ = false;
  std::size_t answers_left_ = 0;
  std::uint64_t count_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t rest_ = shortest_rest;
};

}  // namespace imbrex
