// One source: kernels that are written once and run on whatever device the job has.
//
// The kernels are in 10_one_source.hk. Including that gives an object for each, `axpy` and `sum_groups`, whose
// arguments the compiler checks; imbrex_add_kernel_files, in CMake, compiles them for the CPU and for CUDA and embeds
// their text for OpenCL. In a program of your own:
//
//   add_executable(mine mine.cc)
//   imbrex_add_kernel_files(mine kernels.hk mine.cc)
//
//   build/default/bin/10_one_source                         on the host
//   build/default/bin/10_one_source --imbrex-device=auto    on a GPU where there is one
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "10_one_source.hk"

namespace ix = imbrex;

// A kernel of one statement needs no file: for each item, `i` is its number.
IX_INLINE_KERNEL_BELOW(fill_with, (int n, IX_GLOBAL double* x, double value), n, x[i] = value);

// Each of these has a part of the vectors: x = 0, 1, 2, ... and y = 1, 1, 1, ...
class vector_part : public ix::chare<vector_part, ix::index1d> {
 public:
  ix::task<> run(int n) {
    ix::device& d = on_device();
    fmt::print(stderr, "part {} is on {} {} ({})\n", index().x, to_string(d.kind()), d.number(), d.name());

    const auto size = static_cast<std::size_t>(n);
    const auto over_all = ix::launch_shape::over(size, GROUP);  // so many groups of GROUP items
    ix::buffer<double> x(d, size), y(d, size), sums(d, over_all.num_groups());
    ix::buffer<double> x_on_host(d, size, ix::memory_kind::pinned);
    ix::buffer<double> sums_on_host(d, sums.size(), ix::memory_kind::pinned);
    std::iota(x_on_host.data(), x_on_host.data() + n, static_cast<double>(n) * index().x);

    ix::stream& s = streams().compute;
    ix::copy<double>(x, x_on_host, s);
    ix::launch(s, fill_with, over_all, n, y.data(), 1.0);
    ix::launch(s, axpy, over_all, n, 2.0, x.data(), y.data());
    ix::launch(s, sum_groups, over_all, n, y.data(), sums.data());
    ix::copy<double>(sums_on_host, sums, s);
    co_await s.done();

    contribute(std::accumulate(sums_on_host.data(), sums_on_host.data() + sums.size(), 0.0), ix::sum);
  }
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int n = arguments.empty() ? 250000 : std::stoi(arguments[0]);
  const int num_parts = 4;
  const auto parts = rt.create_array<vector_part>(num_parts);
  parts.broadcast<&vector_part::run>(n);
  const double sum = co_await parts.reduction<double>();

  const double size = static_cast<double>(n) * num_parts;
  const double expected = size * size;  // 1 + 3 + 5 + ... is a square
  fmt::print("2 x + y has {:.0f} elements, which sum to {:.0f}, expected {:.0f}\n", size, sum, expected);
  co_return sum == expected ? 0 : 1;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
