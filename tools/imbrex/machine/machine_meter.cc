#include "machine_meter.h"

#include <imbrex/clock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "measured_kernel.hk"

namespace machine_meter {

namespace ix = imbrex;

namespace {

constexpr int many = 64;  // operations whose mean is a sample
constexpr std::size_t kib = 1024, mib = 1024 * kib;

class stopwatch {
 public:
  double us() const { return std::chrono::duration<double, std::micro>(ix::clock::now() - began_).count(); }

 private:
  ix::clock::time_point began_ = ix::clock::now();
};

/// Streams and memory of one GPU, for one measurement after the other.
struct gpu_bench {
  explicit gpu_bench(ix::device& d)
      : on(d),
        s(d.make_stream(ix::stream_priority::low, "measured")),
        word(d, 1),
        from(d, 64 * mib),
        to(d, 64 * mib),
        pinned(d, 32 * mib, ix::memory_kind::pinned) {}

  /// 16 operations a round and item.
  void compute(int rounds) {
    constexpr int items = 1 << 20, operations = 16;
    s->expect({.flops = 1.0 * operations * items * rounds});
    ix::launch(*s, measured_arithmetic, ix::launch_shape::over(items, 256), items, rounds, 0.5, numbers(to));
  }
  /// Reads and writes all of `from` and `to`.
  void sweep(int items) {
    const int all = static_cast<int>(from.size() / sizeof(double));
    s->expect({.bytes = 2.0 * static_cast<double>(from.size())});
    ix::launch(*s, measured_sweep, ix::launch_shape::over(static_cast<std::size_t>(items), 256), items, all / items,
               numbers(from), numbers(to));
  }
  static double* numbers(const ix::buffer<std::byte>& b) {
    return reinterpret_cast<double*>(const_cast<std::byte*>(b.data()));
  }
  void launch() { ix::launch(*s, measured_kernel, ix::launch_shape::over(1, 32), word.data()); }
  /// Keeps the stream busy for longer than it takes to put in what is measured behind it.
  void hold() {
    for (int i = 0; i < 8; ++i) s->copy(to.data(), pinned.data(), 32 * mib);
  }

  ix::device& on;
  std::unique_ptr<ix::stream> s;
  ix::buffer<int> word;
  ix::buffer<std::byte> from, to, pinned;
};

/// Microseconds of the host for each operation that `put` puts in.
template <class Put>
double host_us(gpu_bench& b, Put put) {
  b.hold();
  const stopwatch w;
  for (int i = 0; i < many; ++i) put();
  return w.us() / many;
}

/// Until all is done that `put` puts behind what keeps the stream busy.
template <class Put>
ix::task<double> held_us(gpu_bench& b, Put put) {
  const stopwatch w;
  b.hold();
  put();
  co_await b.s->done();
  co_return w.us();
}

template <class Put>
ix::task<double> whole_us(gpu_bench& b, Put put) {
  const stopwatch w;
  put();
  co_await b.s->done();
  co_return w.us();
}

/// Microseconds of the device for each of many operations, from the second on.
template <class Put>
ix::task<double> device_us(gpu_bench& b, Put put) {
  auto one = held_us(b, [&] { put(); });
  const double first = co_await one;
  auto all = held_us(b, [&] {
    for (int i = 0; i <= many; ++i) put();
  });
  co_return std::max(0.0, (co_await all - first) / many);
}

/// Of double precision, by two numbers of rounds.
ix::task<double> teraflops(gpu_bench& b) {
  constexpr int few = 200, more = 1200;
  constexpr double operations_of_a_round = 16.0 * (1 << 20);
  auto one = whole_us(b, [&] { b.compute(few); });
  const double first = co_await one;
  auto other = whole_us(b, [&] { b.compute(more); });
  const double second = co_await other;
  co_return (more - few) * operations_of_a_round / std::max(second - first, 1e-3) / 1e6;
}

/// How many would have been as fast as very many, if speed goes with their number as long as they are few.
ix::task<double> threads_that_fill(gpu_bench& b, double kernel_us, double reaction_us) {
  constexpr int few = 4096, very_many = 1 << 22;
  auto one = whole_us(b, [&] { b.sweep(few); });
  const double slow = co_await one - kernel_us - reaction_us;
  auto other = whole_us(b, [&] { b.sweep(very_many); });
  const double fast = co_await other - kernel_us - reaction_us;
  co_return few* std::max(slow, 1e-3) / std::max(fast, 1e-3);
}

/// GB/s, by two sizes of a copy.
template <class Put>
ix::task<double> rate_gbs(gpu_bench& b, Put put, std::size_t small, std::size_t large) {
  auto one = whole_us(b, [&] { put(small); });
  const double first = co_await one;
  auto other = whole_us(b, [&] { put(large); });
  const double second = co_await other;
  co_return static_cast<double>(large - small) / std::max(second - first, 1e-3) / 1e3;
}

}  // namespace

double samples::quantile(double q) const {
  if (values.empty()) return 0;
  std::vector<double> v = values;
  std::ranges::sort(v);
  return v[static_cast<std::size_t>(std::lround(q * static_cast<double>(v.size() - 1)))];
}

// ------------------------------------------------------------------------------------------------ messages

void meter::bounce(int partner, int left) {
  if (left == 0) return array()[index()].send<&meter::over>(0);
  array()[partner].send<&meter::bounce>(index().x, left - 1);
}

ix::task<samples> meter::dispatch(int repeats) {
  samples all;
  for (int i = 0; i < repeats; ++i) {
    const stopwatch w;
    bounce(index().x, 100 * many);
    co_await over(0);
    all.add(w.us() / (100.0 * many + 2));  // and the two that wake this
  }
  co_return all;
}

ix::task<double> meter::transfer_us(int other, std::size_t bytes) {
  const std::vector<double> sent(bytes / sizeof(double), 1.0);
  const stopwatch w;
  co_await array()[other].call<&meter::take>(sent);
  co_return w.us();
}

ix::task<network_facts> meter::talk(int other, int repeats) {
  network_facts f;
  for (int i = 0; i < repeats; ++i) {
    const stopwatch trips;
    bounce(other, 2 * many);
    co_await over(0);
    f.one_way_us.add(trips.us() / (2.0 * many));
    const stopwatch sends;
    for (int k = 0; k < many; ++k) array()[other].send<&meter::ignore>(k);
    f.send_us.add(sends.us() / many);
    co_await array()[other].call<&meter::take>(std::vector<double>());
    auto small = transfer_us(other, 2 * mib);
    const double first = co_await small;
    auto large = transfer_us(other, 10 * mib);
    const double second = co_await large;
    f.gbs.add(8.0 * mib / std::max(second - first, 1e-3) / 1e3);
  }
  co_return f;
}

// ------------------------------------------------------------------------------------------------ GPUs

ix::task<gpu_facts> meter::gpu(int repeats) {
  ix::device& d = on_device();
  gpu_facts f;
  f.name = d.name();
  f.memory_gb = static_cast<double>(d.memory().total) * 1e-9;
  gpu_bench b(d);
  std::unique_ptr<gpu_bench> peer;
  for (int i = 0; i < rt().num_gpus() && peer == nullptr; ++i) {
    if (rt().gpu(i).number() != d.number() && d.reaches(rt().gpu(i))) peer = std::make_unique<gpu_bench>(rt().gpu(i));
  }
  auto small_copy = [&] { b.s->copy(b.to.data(), b.pinned.data(), 8); };
  auto graph = b.s->capture([&] {
    for (int i = 0; i < many; ++i) b.launch();
  });
  b.launch();
  co_await b.s->done();
  for (int i = 0; i < repeats; ++i) {
    f.launch_us.add(host_us(b, [&] { b.launch(); }));
    co_await b.s->done();
    f.copy_us.add(host_us(b, small_copy));
    co_await b.s->done();
    const double with_event = host_us(b, [&] {
      b.launch();
      static_cast<void>(b.s->record());
    });
    f.event_us.add(std::max(0.0, with_event - f.launch_us.values.back()));
    co_await b.s->done();
    auto kernels = device_us(b, [&] { b.launch(); });
    f.kernel_us.add(co_await kernels);
    auto copies = device_us(b, small_copy);
    f.copy_start_us.add(co_await copies);
    auto alone = whole_us(b, [&] { b.launch(); });
    const double once = co_await alone;
    f.reaction_us.add(
        std::max(0.0, once - f.launch_us.values.back() - f.event_us.values.back() - f.kernel_us.values.back()));
    auto own = rate_gbs(b, [&](std::size_t n) { b.s->copy(b.to.data(), b.from.data(), n); }, 8 * mib, 64 * mib);
    f.memory_gbs.add(2 * co_await own);
    auto host = rate_gbs(b, [&](std::size_t n) { b.s->copy(b.to.data(), b.pinned.data(), n); }, 4 * mib, 32 * mib);
    f.host_gbs.add(co_await host);
    const stopwatch graph_launch;
    b.s->run(*graph);
    f.graph_launch_us.add(graph_launch.us());
    co_await b.s->done();
    auto graphs = whole_us(b, [&] { b.s->run(*graph); });
    f.graph_node_us.add(
        std::max(0.0, (co_await graphs - f.graph_launch_us.values.back() - f.reaction_us.values.back()) / many));
    auto arithmetic = teraflops(b);
    f.tflops.add(co_await arithmetic);
    auto filling = threads_that_fill(b, f.kernel_us.values.back(), f.reaction_us.values.back());
    f.filling_threads.add(co_await filling);
    if (peer == nullptr) continue;
    auto between = rate_gbs(b, [&](std::size_t n) { b.s->copy(peer->to.data(), b.from.data(), n); }, 8 * mib, 64 * mib);
    f.peer_gbs.add(co_await between);
    auto peers = device_us(b, [&] { b.s->copy(peer->to.data(), b.from.data(), 8); });
    f.peer_us.add(std::max(0.0, co_await peers - f.copy_start_us.values.back()));
  }
  co_return f;
}

}  // namespace machine_meter
