#pragma once

#include <algorithm>
#include <cstdint>

#include "imbrex/device/buffer.h"
#include "kernels/gpu_layout.h"

namespace jacobi {

/// Pinned memory for a few planes of a block, by way of which cells go to the GPU and back: rows as far apart as there,
/// without ghost rows between the planes.
class staged_planes {
 public:
  staged_planes(imbrex::device& on, const gpu_layout& layout)
      : layout_(layout),
        of_plane_(layout.pitch * layout.size.ny),
        count_(std::clamp<std::int64_t>(most_doubles / of_plane_, 1, layout.size.nz)),
        memory_(on, static_cast<std::size_t>(count_ * of_plane_), imbrex::memory_kind::pinned) {}

  std::int64_t count() const { return count_; }
  double* data() const { return memory_.data(); }
  double* plane(std::int64_t k) const { return data() + k * of_plane_; }
  /// What lies between the rows goes along, ghosts among it.
  void fill(double value) { std::fill_n(data(), count_ * of_plane_, value); }
  /// Enqueues the copying of plane k to plane z of the field, and of plane z of the field to plane k.
  void upload(imbrex::stream& s, std::int64_t k, double* field, std::int64_t z) const {
    s.copy(field + layout_.index(0, 0, z), plane(k), bytes());
  }
  void download(imbrex::stream& s, std::int64_t k, const double* field, std::int64_t z) const {
    s.copy(plane(k), field + layout_.index(0, 0, z), bytes());
  }
  /// The cells of the first planes, `count` of them, without what lies between the rows.
  void unpack(std::int64_t count, double* dense) const {
    const std::int64_t nx = layout_.size.nx;
    for (std::int64_t row = 0; row < count * layout_.size.ny; ++row)
      std::copy_n(data() + row * layout_.pitch, nx, dense + row * nx);
  }

 private:
  static constexpr std::int64_t most_doubles = std::int64_t{1} << 22;

  /// From the first cell of a plane to its last.
  std::size_t bytes() const {
    return static_cast<std::size_t>(of_plane_ - layout_.pitch + layout_.size.nx) * sizeof(double);
  }

  const gpu_layout layout_;
  const std::int64_t of_plane_;
  const std::int64_t count_;
  imbrex::buffer<double> memory_;
};

}  // namespace jacobi
