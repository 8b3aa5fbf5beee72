// Kernels of the dialect beside the same ones by hand, on a GPU: what one source for all devices costs there.
//
//   build/default/bin/bench_one_source --imbrex-device=cuda           # a table; results are compared, too
//   build/default/bin/bench_one_source 16 --imbrex-device=cuda        # a sixteenth of the size
#include <fmt/format.h>
#include <imbrex/clock.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "one_source/by_hand.h"
// Behind imbrex.h.
#include "one_source/one_source.hk"

namespace ix = imbrex;

namespace {

/// On the GPU, filled from the host.
template <class T>
ix::buffer<T> on_gpu(ix::device& d, ix::stream& s, const std::vector<T>& values) {
  ix::buffer<T> there(d, values.size());
  s.copy(there.data(), values.data(), values.size() * sizeof(T));
  return there;
}

std::vector<double> numbers(std::size_t n) {
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<double>(i * 37 % 1013) * 0.001;
  return v;
}

struct both {
  std::string name;
  std::function<void(ix::stream&)> by_hand, dialect;
  const double* result_by_hand;
  const double* result_of_dialect;
  std::size_t size;
};

/// Microseconds a launch: the least of some rounds.
ix::task<double> time_of(ix::stream* s, const std::function<void(ix::stream&)>* f) {
  constexpr int rounds = 7, launches = 20;
  double least = 1e30;
  for (int r = 0; r < rounds; ++r) {
    const auto began = ix::clock::now();
    for (int i = 0; i < launches; ++i) (*f)(*s);
    co_await s->done();
    const std::chrono::duration<double, std::micro> took = ix::clock::now() - began;
    least = std::min(least, took.count() / launches);
  }
  co_return least;
}

ix::task<bool> same(ix::stream* s, const both* b) {
  std::vector<double> one(b->size), other(b->size);
  s->copy(one.data(), b->result_by_hand, b->size * sizeof(double));
  s->copy(other.data(), b->result_of_dialect, b->size * sizeof(double));
  co_await s->done();
  co_return one == other;
}

ix::task<int> start(ix::runtime& rt, std::vector<std::string> words) {
  if (rt.kind_of_device() != ix::device_kind::cuda) throw ix::usage_error("add --imbrex-device=cuda");
  ix::device& d = rt.gpu(0);
  const auto stream = d.make_stream(ix::stream_priority::low, "bench");
  ix::stream& s = *stream;
  const int part = words.empty() ? 1 : std::stoi(words[0]);

  std::vector<both> all;
  // axpy: 2^27 numbers.
  const int n = (1 << 27) / part;
  const auto x = on_gpu(d, s, numbers(static_cast<std::size_t>(n)));
  std::array<ix::buffer<double>, 2> y{on_gpu(d, s, numbers(static_cast<std::size_t>(n))),
                                      on_gpu(d, s, numbers(static_cast<std::size_t>(n)))};
  all.push_back(
      {"axpy", [&](ix::stream& on) { cuda_axpy(on, n, 1e-3, x.data(), y[0].data()); },
       [&](ix::stream& on) { ix::launch(on, os_axpy, ix::launch_shape::over(n), n, 1e-3, x.data(), y[1].data()); },
       y[0].data(), y[1].data(), static_cast<std::size_t>(n)});
  // A matrix of m x m.
  const int m = 8192 / (part >= 16 ? 4 : 1);
  const auto cells = static_cast<std::size_t>(m) * static_cast<std::size_t>(m);
  const auto matrix = on_gpu(d, s, numbers(cells));
  std::array<ix::buffer<double>, 2> turned{ix::buffer<double>(d, cells), ix::buffer<double>(d, cells)};
  const auto tiles = static_cast<unsigned>(m / OS_TILE);
  all.push_back({"transpose", [&](ix::stream& on) { cuda_transpose(on, m, matrix.data(), turned[0].data()); },
                 [&](ix::stream& on) {
                   const ix::launch_shape shape{.groups = {tiles, tiles}, .group = {OS_TILE, OS_ROWS}};
                   ix::launch(on, os_transpose, shape, m, matrix.data(), turned[1].data());
                 },
                 turned[0].data(), turned[1].data(), cells});
  // The 7-point Laplacian of a cube as a sparse matrix.
  const int side = 256 / (part >= 16 ? 4 : 1), num_rows = side * side * side;
  std::vector<int> first{0}, column;
  std::vector<double> value;
  for (int row = 0; row < num_rows; ++row) {
    const int px = row % side, py = row / side % side, pz = row / side / side;
    const auto put = [&](bool there, int at, double v) {
      if (!there) return;
      column.push_back(at);
      value.push_back(v);
    };
    put(pz > 0, row - side * side, -1);
    put(py > 0, row - side, -1);
    put(px > 0, row - 1, -1);
    put(true, row, 6.5);
    put(px < side - 1, row + 1, -1);
    put(py < side - 1, row + side, -1);
    put(pz < side - 1, row + side * side, -1);
    first.push_back(static_cast<int>(column.size()));
  }
  const auto firsts = on_gpu(d, s, first), columns = on_gpu(d, s, column);
  const auto values = on_gpu(d, s, value);
  const auto rows = static_cast<std::size_t>(num_rows);
  const auto v = on_gpu(d, s, numbers(rows));
  std::array<ix::buffer<double>, 2> product{ix::buffer<double>(d, rows), ix::buffer<double>(d, rows)};
  all.push_back({"sparse matrix",
                 [&](ix::stream& on) {
                   cuda_spmv(on, num_rows, firsts.data(), columns.data(), values.data(), v.data(), product[0].data());
                 },
                 [&](ix::stream& on) {
                   ix::launch(on, os_spmv, ix::launch_shape::over(num_rows), num_rows, firsts.data(), columns.data(),
                              values.data(), v.data(), product[1].data());
                 },
                 product[0].data(), product[1].data(), rows});
  // The stencil.
  const int g = 768 / (part >= 16 ? 4 : 1), pitch = (g + 32 + 15) / 16 * 16, planes = 8;
  const std::size_t field =
      static_cast<std::size_t>(pitch) * static_cast<std::size_t>(g + 2) * static_cast<std::size_t>(g + 2) + 64;
  const auto in = on_gpu(d, s, numbers(field));
  std::array<ix::buffer<double>, 2> out{on_gpu(d, s, numbers(field)), on_gpu(d, s, numbers(field))};
  const auto groups = [](int of, int each) { return static_cast<unsigned>((of + each - 1) / each); };
  all.push_back(
      {"7-point stencil", [&](ix::stream& on) { cuda_stencil(on, g, g, g, pitch, planes, in.data(), out[0].data()); },
       [&](ix::stream& on) {
         const ix::launch_shape shape{.groups = {groups(g, 64), groups(g, 8), groups(g, planes)}, .group = {32, 8}};
         ix::launch(on, os_stencil, shape, g, g, g, pitch, planes, in.data(), out[1].data());
       },
       out[0].data(), out[1].data(), field});
  // A million atoms with some 76 neighbours each, near in memory.
  const int atoms = (1 << 20) / part, most = 76;
  std::mt19937 random(1);
  std::vector<double> place(static_cast<std::size_t>(atoms) * 4);
  for (double& p : place) p = static_cast<double>(random() % 100000) * 1e-4;
  std::vector<int> list(static_cast<std::size_t>(atoms) * most), num(static_cast<std::size_t>(atoms), most);
  for (int i = 0; i < atoms; ++i)
    for (int k = 0; k < most; ++k)
      list[static_cast<std::size_t>(k) * static_cast<std::size_t>(atoms) + static_cast<std::size_t>(i)] =
          (i + 1 + k * 7 + static_cast<int>(random() % 50)) % atoms;
  const auto places = on_gpu(d, s, place);
  const auto lists = on_gpu(d, s, list), nums = on_gpu(d, s, num);
  std::array<ix::buffer<double>, 2> force{on_gpu(d, s, place), on_gpu(d, s, place)};
  all.push_back(
      {"Lennard-Jones forces",
       [&](ix::stream& on) { cuda_forces(on, atoms, 30.0, places.data(), lists.data(), nums.data(), force[0].data()); },
       [&](ix::stream& on) {
         ix::launch(on, os_forces, ix::launch_shape::over(atoms), atoms, 30.0, places.data(), lists.data(), nums.data(),
                    force[1].data());
       },
       force[0].data(), force[1].data(), place.size()});
  co_await s.done();

  fmt::print("{}, us a launch: by hand, in the dialect\n", d.name());
  int code = 0;
  for (const both& b : all) {
    auto hand = time_of(&s, &b.by_hand), dialect = time_of(&s, &b.dialect);
    const double by_hand = co_await hand, of_dialect = co_await dialect;
    auto compared = same(&s, &b);
    const bool agree = co_await compared;
    fmt::print("{:22} {:9.1f} {:9.1f}  {:.2f}{}\n", b.name, by_hand, of_dialect, of_dialect / by_hand,
               agree ? "" : "  DIFFERENT RESULTS");
    if (!agree) code = 1;
  }
  co_return code;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
