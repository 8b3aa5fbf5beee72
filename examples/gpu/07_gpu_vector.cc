// GPU vector: buffers of a device, copies and a kernel of one's own on a stream, and chares that wait for them.
//
// The device is the host itself unless a GPU is asked for; the program is the same. Everything is enqueued on a stream
// at once and happens in its order; `co_await s.done()` gives the PE to others until it has.
//
//   build/default/bin/07_gpu_vector                         on the host
//   build/default/bin/07_gpu_vector --imbrex-device=auto    on a GPU where there is one; =cuda insists on it
//   build/default/bin/07_gpu_vector 10000000                with 10000000 elements for each of the four chares
#include <fmt/core.h>
#include <imbrex/base/build_config.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "07_gpu_vector.h"

namespace ix = imbrex;

// y = a * x + y in the order of `s`: the kernel of 07_gpu_vector.cu, or on the host device its twin.
void axpy(ix::stream& s, std::size_t n, double a, const double* x, double* y) {
#if IMBREX_HAVE_CUDA
  if (s.on().kind() == ix::device_kind::cuda) {
    gpu_axpy(s, n, a, x, y);
    return;
  }
#endif
  s.call("axpy", [=] {
    for (std::size_t i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
  });
}

// Each of these has a part of the vectors: x = 0, 1, 2, ... and y = 1, 1, 1, ...
class vector_part : public ix::chare<vector_part, ix::index1d> {
 public:
  ix::task<> run(std::size_t n) {
    ix::device& d = on_device();  // this PE's GPU, or the host
    fmt::print(stderr, "part {} is on {} {} ({})\n", index().x, to_string(d.kind()), d.number(), d.name());

    // Memory of the device, and pinned memory, which the host writes and reads and the device copies from and to.
    ix::buffer<double> x(d, n), y(d, n);
    ix::buffer<double> x_on_host(d, n, ix::memory_kind::pinned), y_on_host(d, n, ix::memory_kind::pinned);
    std::iota(x_on_host.data(), x_on_host.data() + n, static_cast<double>(n) * index().x);
    std::fill_n(y_on_host.data(), n, 1.0);

    ix::stream& s = streams().compute;  // this chare's own
    ix::copy<double>(x, x_on_host, s);
    ix::copy<double>(y, y_on_host, s);
    axpy(s, n, 2.0, x.data(), y.data());
    ix::copy<double>(y_on_host, y, s);
    co_await s.done();  // nothing of it need have begun before; now all of it has finished

    contribute(std::accumulate(y_on_host.data(), y_on_host.data() + n, 0.0), ix::sum);
  }
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const std::size_t n = arguments.empty() ? 250000 : std::stoul(arguments[0]);
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
