#pragma once

#include <imbrex/imbrex.h>
#include <imbrex/object/repeat/resident_star.h>

#include <array>

#include "kernels/gpu_kernels.h"
#include "options.h"

namespace jacobi {

/// `--steps resident`: a kernel on each GPU does many iterations, and exchanges what is needed by itself (see
/// star_resident). The blocks, one on each GPU, lie above one another.
class gpu_resident_steps {
 public:
  /// `layout` must outlive it.
  gpu_resident_steps(imbrex::index3d at, imbrex::index3d extent, const options& o, const gpu_layout& layout);

  /// All blocks, before anything else; again: nothing is left to do.
  template <class Chare>
  imbrex::task<> connect(Chare& self) {
    if (star_.is_connected()) co_return;
    auto connected = star_.connect(self, grid_);
    co_await connected;
  }
  /// Enqueues `steps` iterations of `fields[parity]`. With `keeps_previous` the other field then holds the state of one
  /// iteration before.
  void enqueue(imbrex::stream& s, const std::array<double*, 2>& fields, int parity, int steps, bool keeps_previous);

  /// Of a block with no neighbours.
  static imbrex::star_grid grid_of(extents size);

 private:
  const gpu_layout& layout_;
  const stencil formula_;
  imbrex::star_grid grid_;
  imbrex::resident_star star_;
};

}  // namespace jacobi
