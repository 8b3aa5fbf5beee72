#pragma once

/// How a cell is computed, for what the runtime does with stars.
namespace jacobi::gpu {

/// The operations of `gpu::updated`, cut where the plane above comes in.
struct mean_rule {
  __device__ __forceinline__ double in_plane(double here, double west, double east, double south, double north,
                                             double below) const {
    return __dadd_rn(__dadd_rn(__dadd_rn(__dadd_rn(__dadd_rn(here, west), east), south), north), below);
  }
  __device__ __forceinline__ double complete(double sum, double, double above) const {
    return __dmul_rn(__dadd_rn(sum, above), 1.0 / 7.0);
  }
};

struct weighted_rule {
  double alpha, beta;

  __device__ __forceinline__ double in_plane(double, double west, double east, double south, double north,
                                             double below) const {
    return __dadd_rn(__dadd_rn(__dadd_rn(__dadd_rn(west, east), south), north), below);
  }
  __device__ __forceinline__ double complete(double sum, double here, double above) const {
    return __dadd_rn(__dmul_rn(alpha, here), __dmul_rn(beta, __dadd_rn(sum, above)));
  }
};

}  // namespace jacobi::gpu
