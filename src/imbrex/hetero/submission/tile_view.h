#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <version>
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace imbrex {

/// Elements of a tile of a grid, with its rows as far apart as those of the grid (on the host) or not (on a device,
/// where tiles lie by themselves): x fastest. As a matrix by columns, as BLAS takes them, x is the row, and `stride(1)`
/// the leading dimension. Owns nothing. Also in code of a device.
template <class T>
class tile_view {
 public:
  using element_type = T;
  using shape = std::array<std::size_t, 3>;

  constexpr tile_view() = default;
  constexpr tile_view(T* data, const shape& extent, const shape& stride)
      : data_(data), extent_(extent), stride_(stride) {}
  template <class U>
    requires std::is_same_v<T, const U>
  constexpr tile_view(const tile_view<U>& v)  // NOLINT(google-explicit-constructor)
      : data_(v.data()), extent_{v.extent(0), v.extent(1), v.extent(2)}, stride_{1, v.stride(1), v.stride(2)} {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t extent(std::size_t axis) const { return extent_[axis]; }
  /// Elements from one to the next along an axis.
  constexpr std::size_t stride(std::size_t axis) const { return stride_[axis]; }
  constexpr std::size_t size() const { return extent_[0] * extent_[1] * extent_[2]; }
  constexpr T& operator()(std::size_t x, std::size_t y = 0, std::size_t z = 0) const {
    return data_[x + stride_[1] * y + stride_[2] * z];
  }
  /// The first element of a row.
  constexpr T* row(std::size_t y, std::size_t z = 0) const { return data_ + stride_[1] * y + stride_[2] * z; }

#ifdef __cpp_lib_mdspan
  /// Indexed by z, y, x, as `std::layout_right` counts.
  std::mdspan<T, std::dextents<std::size_t, 3>, std::layout_stride> mdspan() const {
    const std::dextents<std::size_t, 3> e(extent_[2], extent_[1], extent_[0]);
    return {data_, {e, std::array<std::size_t, 3>{stride_[2], stride_[1], 1}}};
  }
#endif

 private:
  T* data_ = nullptr;
  shape extent_{0, 0, 0};
  shape stride_{1, 0, 0};
};

}  // namespace imbrex
