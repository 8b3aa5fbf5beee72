// Kokkos: its kernels inside functions of streams, on memory of imbrex.
//
// A kernel of Kokkos is a piece of computing like any other: `stream::call` has the PE run it in the order of a stream
// of the host device. Kokkos is initialised once, in main, around the job. PEs are threads that have the cores, so
// Kokkos is to have no threads of its own: its Serial backend, or one thread of OpenMP and one PE in each process.
//
//   build/default/bin/13_kokkos                      six tiles of 200 x 100 points
//   build/default/bin/13_kokkos 24 1000 1000         more, and larger ones
//   mpirun -n 4 build/default/bin/13_kokkos --imbrex-pes=1
#include <fmt/core.h>
#include <imbrex/imbrex.h>
#include <Kokkos_Core.hpp>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace ix = imbrex;

using host_space = Kokkos::DefaultHostExecutionSpace;
using range = Kokkos::RangePolicy<host_space>;
using tiles = Kokkos::MDRangePolicy<host_space, Kokkos::Rank<2>>;
// A view of memory that somebody else has and frees.
using field = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

// Before version 3.5, reductions of all threads use the same memory: two PEs must not be at it at the same time.
std::mutex one_reduction_at_a_time;

// The Laplacian of u = x^2 + 3 y^2 on a tile is 8 at every inner point, exactly.
class tile : public ix::chare<tile, ix::index1d> {
 public:
  ix::task<> run(int nx, int ny) {
    const auto size = static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny);
    // Of the host device, also where `--imbrex-device` is another one.
    ix::buffer<double> u_memory(on_host(), size), laplacian_memory(on_host(), size);
    const auto order = on_host().make_stream(ix::stream_priority::low, "the stream for Kokkos");
    const field u(u_memory.data(), nx, ny), laplacian(laplacian_memory.data(), nx, ny);

    order->call("fill", [=] {
      Kokkos::parallel_for("fill", tiles({0, 0}, {nx, ny}), [=](int i, int j) {
        u(i, j) = static_cast<double>(i) * i + 3.0 * j * j;
        laplacian(i, j) = 0;
      });
    });
    order->call("stencil", [=] {
      Kokkos::parallel_for("stencil", tiles({1, 1}, {nx - 1, ny - 1}), [=](int i, int j) {
        laplacian(i, j) = u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1) - 4 * u(i, j);
      });
    });
    double sum = 0;
    order->call("sum", [=, &sum] {
      const std::lock_guard lock(one_reduction_at_a_time);
      Kokkos::parallel_reduce(
          "sum", range(0, nx),
          [=](int i, double& part) {
            for (int j = 0; j < ny; ++j) part += laplacian(i, j);
          },
          sum);
    });
    co_await order->done();  // other tiles compute meanwhile
    contribute(sum, ix::sum);
  }
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int num_tiles = !arguments.empty() ? std::stoi(arguments[0]) : 6;
  const int nx = arguments.size() > 1 ? std::stoi(arguments[1]) : 200;
  const int ny = arguments.size() > 2 ? std::stoi(arguments[2]) : 100;
  fmt::print(stderr, "Kokkos computes by {}\n", host_space::name());

  const auto all = rt.create_array<tile>(num_tiles);
  all.broadcast<&tile::run>(nx, ny);
  const double sum = co_await all.reduction<double>();

  const double expected = 8.0 * num_tiles * (nx - 2) * (ny - 2);
  fmt::print("the Laplacian of {} tiles of {} x {} points sums to {:.0f}, expected {:.0f}\n", num_tiles, nx, ny, sum,
             expected);
  co_return sum == expected ? 0 : 1;
}

int main(int argc, char** argv) {
  setenv("OMP_NUM_THREADS", "1", 0);  // NOLINT(concurrency-mt-unsafe): before there are threads
  const Kokkos::ScopeGuard around(argc, argv);
  return ix::run(argc, argv, &start);
}
