#pragma once

#include <imbrex/imbrex.h>

#include <array>
#include <optional>
#include <vector>

#include "imbrex/device/opencl/opencl_stream.h"

/// Main chares of whole jobs with chares on devices of OpenCL; each gives 0 when all results are right.
namespace imbrex_test::opencl_jobs {

namespace ix = imbrex;
using argument = ix::opencl_argument;

inline constexpr const char* program = R"(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void multiply_add(global long* data, ulong n, long factor, long term) {
  const ulong i = get_global_id(0);
  if (i < n) data[i] = data[i] * factor + term;
}
kernel void smooth(global double* to, global const double* from, ulong n) {  // cells 0 and n + 1 are the neighbours'
  const ulong i = get_global_id(0) + 1;
  if (i <= n) to[i] = 0.5 * (from[i - 1] + from[i + 1]);
}
)";

inline ix::opencl_stream& of_opencl(ix::stream& s) { return static_cast<ix::opencl_stream&>(s); }

template <std::size_t n>
void launch(ix::stream& s, const char* kernel, std::size_t items, const std::array<argument, n>& arguments) {
  of_opencl(s).launch_program_kernel(program, "", kernel, {static_cast<unsigned>((items + 63) / 64), 1, 1}, {64, 1, 1},
                                     0, arguments);
}
inline void multiply_add(ix::stream& s, std::int64_t* data, std::uint64_t n, std::int64_t factor, std::int64_t term) {
  launch(s, "multiply_add", n,
         std::array{argument::pointer(data), argument::value(n), argument::value(factor), argument::value(term)});
}

/// A ring in which each passes what came from the left, plus 1, to the right.
class member : public ix::chare<member, ix::index1d> {
 public:
  static constexpr std::size_t length = 5000;
  static constexpr int rounds = 20;

  member() {
    const int n = extent().x, i = index().x;
    right_ = ix::channel<std::int64_t>(*this, array()[ix::index1d((i + 1) % n)], 0, 1, ix::memory_kind::device);
    left_ = ix::channel<std::int64_t>(*this, array()[ix::index1d((i + n - 1) % n)], 1, 0, ix::memory_kind::device);
    for (auto& b : out_) b = ix::buffer<std::int64_t>(on_device(), length);
    in_ = ix::buffer<std::int64_t>(on_device(), length);
  }

  ix::task<> pass(bool borrow) {
    ix::stream& s = streams().compute;
    s.fill(out_[0].data(), 0, length * sizeof(std::int64_t));
    multiply_add(s, out_[0].data(), length, 1, index().x);
    for (int round = 0; round < rounds; ++round) {
      ix::buffer<std::int64_t>& mine = out_[static_cast<std::size_t>(round) % 2];
      ix::buffer<std::int64_t>& next = out_[static_cast<std::size_t>(round + 1) % 2];
      auto sent = right_.send(mine.view(), s);
      if (borrow) {
        ix::received<std::int64_t> theirs = co_await left_.borrow(s);
        s.copy(next.data(), theirs.data(), length * sizeof(std::int64_t));
      } else {
        co_await left_.recv(in_.view(), s);
        s.copy(next.data(), in_.data(), length * sizeof(std::int64_t));
      }
      multiply_add(s, next.data(), length, 1, 1);
      co_await sent;  // `mine` is written in the next round
    }
    ix::buffer<std::int64_t> host(on_device(), length, ix::memory_kind::pinned);
    ix::copy(host.view(), ix::buffer_view<const std::int64_t>(out_[rounds % 2]), s);
    co_await s.done();
    const int n = extent().x;
    const std::int64_t expected = ((index().x - rounds) % n + n) % n + rounds;
    bool right = true;
    for (std::size_t i = 0; i < length; ++i) right = right && host.data()[i] == expected;
    contribute(right, ix::logical_and);
  }

 private:
  ix::channel<std::int64_t> right_, left_;
  std::array<ix::buffer<std::int64_t>, 2> out_;
  ix::buffer<std::int64_t> in_;
};

inline ix::task<int> ring(ix::runtime& rt) {
  if (rt.kind_of_device() != ix::device_kind::opencl) co_return 1;
  auto members = rt.create_array<member>(ix::index1d(7));
  for (const bool borrow : {false, true}) {
    if (borrow && rt.num_ranks() > 1) continue;
    members.broadcast<&member::pass>(borrow);
    const bool right = co_await members.reduction<bool>();
    if (!right) co_return 1;
  }
  co_return 0;
}

/// A rod that is smoothed: each chare has a part of it, and the cells beside it from its neighbours.
class part : public ix::chare<part, ix::index1d> {
 public:
  static constexpr std::size_t cells = 200;
  static constexpr int num_parts = 6, iterations = 50;

  static double initial(std::size_t cell) { return static_cast<double>(cell * 7919 % 1000); }

  part() {
    const int i = index().x;
    if (i > 0) left_ = ix::channel<double>(*this, array()[ix::index1d(i - 1)], 0, 1, ix::memory_kind::device);
    if (i + 1 < num_parts)
      right_ = ix::channel<double>(*this, array()[ix::index1d(i + 1)], 1, 0, ix::memory_kind::device);
    for (auto& f : field_) f = ix::buffer<double>(on_device(), cells + 2);
  }

  ix::task<> run() {
    ix::stream& s = streams().compute;
    std::vector<double> values(cells + 2, 0.0);
    const auto first = static_cast<std::size_t>(index().x) * cells;
    for (std::size_t c = 0; c < cells; ++c) values[c + 1] = initial(first + c);
    for (auto& f : field_) s.copy(f.data(), values.data(), values.size() * sizeof(double));
    ix::run_ahead ahead(2);
    for (int it = 0; it < iterations; ++it) {
      ix::buffer<double>& from = field_[static_cast<std::size_t>(it) % 2];
      ix::buffer<double>& to = field_[static_cast<std::size_t>(it + 1) % 2];
      const auto cell = [&](std::size_t c) { return from.view().slice(c, 1); };
      std::optional<ix::channel_send> to_left, to_right;
      if (left_.is_open()) to_left.emplace(left_.send(cell(1), s));
      if (right_.is_open()) to_right.emplace(right_.send(cell(cells), s));
      if (left_.is_open()) co_await left_.recv(cell(0), s);
      if (right_.is_open()) co_await right_.recv(cell(cells + 1), s);
      launch(s, "smooth", cells,
             std::array{argument::pointer(to.data()), argument::pointer(from.data()),
                        argument::value(std::uint64_t{cells})});
      if (to_left) co_await *to_left;
      if (to_right) co_await *to_right;
      co_await ahead.step(s);
    }
    s.copy(values.data(), field_[iterations % 2].data(), values.size() * sizeof(double));
    co_await s.done();
    const std::vector<double> expected = serial();
    bool right = true;
    for (std::size_t c = 0; c < cells; ++c) right = right && values[c + 1] == expected[first + c + 1];
    contribute(right, ix::logical_and);
  }

 private:
  static std::vector<double> serial() {
    std::vector<double> from(cells * num_parts + 2, 0.0);
    for (std::size_t c = 0; c < cells * num_parts; ++c) from[c + 1] = initial(c);
    std::vector<double> to = from;
    for (int it = 0; it < iterations; ++it) {
      for (std::size_t i = 1; i + 1 < from.size(); ++i) to[i] = 0.5 * (from[i - 1] + from[i + 1]);
      std::swap(from, to);
    }
    return from;
  }

  ix::channel<double> left_, right_;
  std::array<ix::buffer<double>, 2> field_;
};

inline ix::task<int> smoothing(ix::runtime& rt) {
  auto parts = rt.create_array<part>(ix::index1d(part::num_parts));
  parts.broadcast<&part::run>();
  const bool right = co_await parts.reduction<bool>();
  co_return right ? 0 : 1;
}

}  // namespace imbrex_test::opencl_jobs
