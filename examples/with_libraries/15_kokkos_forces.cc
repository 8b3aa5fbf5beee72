// Molecular dynamics whose kernels somebody has written in Kokkos, in the streams of chares: on GPUs where both Kokkos
// and imbrex have them, else on the PEs.
//
// The kernels are in 15_kokkos_forces_kernels.cpp, which knows nothing of imbrex. A chare gives them its compute
// stream, of which they make an execution space of Kokkos; so kernels of several chares run side by side on a GPU, and
// `co_await done()` lets others have the PE meanwhile.
//
//   build/default/bin/15_kokkos_forces                         eight droplets of 216 atoms, 200 steps
//   build/default/bin/15_kokkos_forces 64 1000 500             more of them, of more atoms, for more steps
//   build/default/bin/15_kokkos_forces --imbrex-device=cuda    on GPUs; docs/interoperation.md says how to build Kokkos
#include <fmt/core.h>
#include <imbrex/clock.h>
#include <imbrex/imbrex.h>
#include <imbrex/interop.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "15_kokkos_forces.h"

namespace ix = imbrex;

class droplet : public ix::chare<droplet, ix::index1d> {
 public:
  // How much the energy of all its atoms changes, relative to what it is.
  ix::task<> run(int num_atoms, int num_steps) {
    const bool on_gpu = kokkos_has_gpus() && on_device().kind() == ix::device_kind::cuda;
    ix::device& d = on_gpu ? on_device() : on_host();
    const auto order = d.make_stream(ix::stream_priority::low, "the stream for Kokkos");
    const auto n = static_cast<std::size_t>(num_atoms);
    ix::buffer<double> x(d, 3 * n), v(d, 3 * n), f(d, 3 * n), each(d, n);
    if (on_gpu) {
      ix::enqueue_native(*order, "an execution space", [&](CUstream_st* s) {
        atoms_ = kokkos_droplet::make(s, num_atoms, x.data(), v.data(), f.data());
      });
    } else {
      atoms_ = kokkos_droplet::make(nullptr, num_atoms, x.data(), v.data(), f.data());
    }
    kokkos_droplet* const a = atoms_.get();
    double* const e = each.data();
    std::vector<double> before(n), after(n);

    constexpr double dt = 0.002;
    enqueue(*order, "place", [a] { a->place(1.2); });
    enqueue(*order, "forces", [a] { a->forces(); });
    enqueue(*order, "energies", [a, e] { a->energies(e); });
    order->copy(before.data(), e, n * sizeof(double));
    for (int step = 0; step < num_steps; ++step) {
      enqueue(*order, "kick", [a] { a->kick(0.5 * dt); });
      enqueue(*order, "drift", [a] { a->drift(dt); });
      enqueue(*order, "forces", [a] { a->forces(); });
      enqueue(*order, "kick", [a] { a->kick(0.5 * dt); });
      if (step % 50 == 49) co_await order->done();  // others compute meanwhile
    }
    enqueue(*order, "energies", [a, e] { a->energies(e); });
    order->copy(after.data(), e, n * sizeof(double));
    co_await order->done();
    atoms_.reset();
    const double first = std::reduce(before.begin(), before.end()), last = std::reduce(after.begin(), after.end());
    contribute(std::abs(last - first) / std::abs(first), ix::max);
    contribute(last, ix::sum);
  }

 private:
  // A stream of a GPU takes Kokkos's kernels at once, one of the host runs them when it comes to them.
  template <class F>
  static void enqueue(ix::stream& s, const char* name, F f) {
    if (s.on().kind() == ix::device_kind::cuda)
      ix::enqueue_native(s, name, [&](CUstream_st*) { f(); });
    else
      s.call(name, f);
  }

  std::unique_ptr<kokkos_droplet> atoms_;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int num_droplets = !arguments.empty() ? std::stoi(arguments[0]) : 8;
  const int num_atoms = arguments.size() > 1 ? std::stoi(arguments[1]) : 216;
  const int num_steps = arguments.size() > 2 ? std::stoi(arguments[2]) : 200;

  const auto all = rt.create_array<droplet>(num_droplets);
  const auto began = ix::clock::now();
  all.broadcast<&droplet::run>(num_atoms, num_steps);
  const double drift = co_await all.reduction<double>();
  const double energy = co_await all.reduction<double>();
  fmt::print(stderr, "{:.1f} ms\n", std::chrono::duration<double, std::milli>(ix::clock::now() - began).count());

  const bool good = drift < 1e-4;
  fmt::print("{} droplets of {} atoms, {} steps: energy {:.3f} for each atom, {}\n", num_droplets, num_atoms, num_steps,
             energy / num_droplets / num_atoms, good ? "conserved" : "NOT conserved");
  co_return good ? 0 : 1;
}

int main(int argc, char** argv) {
  setenv("OMP_NUM_THREADS", "1", 0);  // NOLINT(concurrency-mt-unsafe): before there are threads
  const kokkos_session around(argc, argv);
  return ix::run(argc, argv, &start);
}
