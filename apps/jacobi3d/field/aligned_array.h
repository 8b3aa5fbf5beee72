#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

/// An array of doubles aligned to 64 bytes (to 2 MiB, with huge pages asked for, when it is large).
namespace jacobi {

class aligned_array {
 public:
  aligned_array() = default;
  /// All zero, touched by the calling thread. Throws out_of_memory with the size.
  explicit aligned_array(std::int64_t size);
  aligned_array(aligned_array&& other) noexcept;
  aligned_array& operator=(aligned_array&& other) noexcept;
  ~aligned_array() = default;

  double* data() { return data_; }
  const double* data() const { return data_; }
  std::int64_t size() const { return size_; }
  std::span<double> span() { return {data_, static_cast<std::size_t>(size_)}; }
  std::span<const double> span() const { return {data_, static_cast<std::size_t>(size_)}; }
  double& operator[](std::int64_t i) { return data_[i]; }
  double operator[](std::int64_t i) const { return data_[i]; }

 private:
  std::shared_ptr<std::byte> memory_;
  double* data_ = nullptr;
  std::int64_t size_ = 0;
};

/// `cells` rounded up to a whole number of cache lines: the distance between two rows, in doubles.
constexpr std::int64_t row_pitch(std::int64_t cells) { return (cells + 7) / 8 * 8; }

}  // namespace jacobi
