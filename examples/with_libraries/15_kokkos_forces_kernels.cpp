// The Kokkos half of 15_kokkos_forces.cc: as a user has it who has written his kernels by Kokkos. Compiled by nvcc where
// Kokkos has CUDA.
#include <Kokkos_Core.hpp>

#include <cmath>
#include <stdexcept>
#include <string>

#include "15_kokkos_forces.h"

namespace {

// Memory that somebody else has and frees.
template <class Space>
using numbers =
    Kokkos::View<double*, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
template <class Space>
using vectors =
    Kokkos::View<double* [3], Kokkos::LayoutRight, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class Space>
struct put {
  vectors<Space> x, v, f;
  int side;
  double spacing;
  KOKKOS_INLINE_FUNCTION void operator()(int i) const {
    x(i, 0) = spacing * (i % side);
    x(i, 1) = spacing * (i / side % side);
    x(i, 2) = spacing * (i / side / side);
    for (int d = 0; d < 3; ++d) v(i, d) = f(i, d) = 0;
  }
};

template <class Space>
struct attract {
  vectors<Space> x, f;
  int n;
  KOKKOS_INLINE_FUNCTION void operator()(int i) const {
    double sum[3] = {0, 0, 0};
    for (int j = 0; j < n; ++j) {
      if (j == i) continue;
      const double d[3] = {x(i, 0) - x(j, 0), x(i, 1) - x(j, 1), x(i, 2) - x(j, 2)};
      const double s2 = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), s6 = s2 * s2 * s2;
      const double force = 48.0 * s6 * (s6 - 0.5) * s2;
      for (int k = 0; k < 3; ++k) sum[k] += force * d[k];
    }
    for (int k = 0; k < 3; ++k) f(i, k) = sum[k];
  }
};

template <class Space>
struct add_scaled {
  vectors<Space> to, what;
  double factor;
  KOKKOS_INLINE_FUNCTION void operator()(int i) const {
    for (int d = 0; d < 3; ++d) to(i, d) += factor * what(i, d);
  }
};

template <class Space>
struct energy {
  vectors<Space> x, v;
  numbers<Space> each;
  int n;
  KOKKOS_INLINE_FUNCTION void operator()(int i) const {
    double sum = 0.5 * (v(i, 0) * v(i, 0) + v(i, 1) * v(i, 1) + v(i, 2) * v(i, 2));
    for (int j = 0; j < n; ++j) {
      if (j == i) continue;
      const double d[3] = {x(i, 0) - x(j, 0), x(i, 1) - x(j, 1), x(i, 2) - x(j, 2)};
      const double s2 = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), s6 = s2 * s2 * s2;
      sum += 2.0 * s6 * (s6 - 1.0);
    }
    each(i) = sum;
  }
};

template <class Space>
class droplet_in final : public kokkos_droplet {
 public:
  droplet_in(Space s, int n, double* x, double* v, double* f) : space_(s), n_(n), x_(x, n), v_(v, n), f_(f, n) {}

  void place(double spacing) override {
    const int side = static_cast<int>(std::ceil(std::cbrt(static_cast<double>(n_)) - 1e-9));
    run("place", put<Space>{x_, v_, f_, side, spacing});
  }
  void forces() override { run("forces", attract<Space>{x_, f_, n_}); }
  void kick(double dt) override { run("kick", add_scaled<Space>{v_, f_, dt}); }
  void drift(double dt) override { run("drift", add_scaled<Space>{x_, v_, dt}); }
  void energies(double* each) override { run("energies", energy<Space>{x_, v_, numbers<Space>(each, n_), n_}); }

 private:
  template <class Kernel>
  void run(const char* name, const Kernel& k) {
    Kokkos::parallel_for(name, Kokkos::RangePolicy<Space>(space_, 0, n_), k);
#ifdef KOKKOS_ENABLE_CUDA
    // Kokkos does not look whether a kernel could be launched.
    if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess)
      throw std::runtime_error(std::string(name) + ": " + cudaGetErrorString(e));
#endif
  }

  const Space space_;
  const int n_;
  const vectors<Space> x_, v_, f_;
};

}  // namespace

kokkos_session::kokkos_session(int& argc, char** argv) { Kokkos::initialize(argc, argv); }
kokkos_session::~kokkos_session() { Kokkos::finalize(); }

bool kokkos_has_gpus() {
#ifdef KOKKOS_ENABLE_CUDA
  return true;
#else
  return false;
#endif
}

std::unique_ptr<kokkos_droplet> kokkos_droplet::make(CUstream_st* stream, int n, double* x, double* v, double* f) {
#ifdef KOKKOS_ENABLE_CUDA
  // One execution space for each stream, kept: making one takes a while.
  if (stream != nullptr) return std::make_unique<droplet_in<Kokkos::Cuda>>(Kokkos::Cuda(stream), n, x, v, f);
#endif
  static_cast<void>(stream);
  using host = Kokkos::DefaultHostExecutionSpace;
  return std::make_unique<droplet_in<host>>(host(), n, x, v, f);
}
