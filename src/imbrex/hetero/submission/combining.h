#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "imbrex/device/kernel/kernel.h"
#include "imbrex/device/stream.h"
#include "imbrex/hetero/submission/element_operation.h"
#include "imbrex/hetero/submission/task_function.h"
#include "imbrex/hetero/submission/tile_view.h"

/// What tasks do that begin and end reductions: on the host, or on a device that has the parts.
namespace imbrex {

/// A kernel that combines elements: `n`, into which, from which.
template <class T>
using combining_kernel = kernel<void(int, T*, const T*)>;

namespace detail {

/// \name Enqueued kernels of combine.hk. `into`, `from` and `to` are memory of the stream's device.
///@{
void combine_on(stream& s, element_operation op, int* into, const int* from, std::size_t n);
void combine_on(stream& s, element_operation op, unsigned* into, const unsigned* from, std::size_t n);
void combine_on(stream& s, element_operation op, long* into, const long* from, std::size_t n);
void combine_on(stream& s, element_operation op, unsigned long* into, const unsigned long* from, std::size_t n);
void combine_on(stream& s, element_operation op, float* into, const float* from, std::size_t n);
void combine_on(stream& s, element_operation op, double* into, const double* from, std::size_t n);
void fill_on(stream& s, int value, int* to, std::size_t n);
void fill_on(stream& s, unsigned value, unsigned* to, std::size_t n);
void fill_on(stream& s, long value, long* to, std::size_t n);
void fill_on(stream& s, unsigned long value, unsigned long* to, std::size_t n);
void fill_on(stream& s, float value, float* to, std::size_t n);
void fill_on(stream& s, double value, double* to, std::size_t n);
///@}

template <class T>
constexpr bool devices_know = std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, long> ||
                              std::is_same_v<T, unsigned long> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// What devices do for `op` on `T`; `none`: nothing.
template <class T, class Op>
constexpr element_operation operation_on_devices(const Op& op) {
  if constexpr (devices_know<T> && requires {
                  { op.on_elements } -> std::convertible_to<element_operation>;
                }) {
    const bool of_bits = op.on_elements >= element_operation::bit_and;
    return of_bits && std::is_floating_point_v<T> ? element_operation::none : op.on_elements;
  } else {
    static_cast<void>(op);
    return element_operation::none;
  }
}

/// A launch has an `int` of items at most.
template <class F>
void in_pieces(std::size_t n, F f) {
  constexpr std::size_t most = std::size_t{1} << 30;
  for (std::size_t at = 0; at < n; at += most) f(at, static_cast<int>(std::min(most, n - at)));
}

/// `into` gets what both give together.
template <class T, class Op>
struct combining {
  Op op;
  const combining_kernel<T>* by_kernel = nullptr;  ///< of the program's; null: what is built in, if anything

  constexpr element_operation built_in() const { return operation_on_devices<T>(op); }
  static std::uint8_t everywhere() { return task_node::on_the_host | task_function<void (*)(stream&)>::on_all_devices; }
  std::uint8_t runs_on() const {
    return by_kernel != nullptr || built_in() != element_operation::none ? everywhere() : task_node::on_the_host;
  }
  void row(T* into, const T* from, std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i) op(into[i], T(from[i]));
  }
  void all(stream& s, T* into, const T* from, std::size_t n) const {
    if (by_kernel != nullptr) {
      in_pieces(n, [&](std::size_t at, int some) {
        launch(s, *by_kernel, launch_shape::over(static_cast<std::size_t>(some)), some, into + at, from + at);
      });
    } else if constexpr (devices_know<T>) {
      combine_on(s, built_in(), into, from, n);
    }
  }
};

/// `into` gets what `from` has.
template <class T>
struct taking {
  std::uint8_t runs_on() const {
    return std::is_trivially_copyable_v<T> ? task_node::on_the_host | task_function<void (*)(stream&)>::on_all_devices
                                           : task_node::on_the_host;
  }
  void row(T* into, const T* from, std::size_t n) const { std::copy_n(from, n, into); }
  void all(stream& s, T* into, const T* from, std::size_t n) const {
    if (n > 0) s.copy(into, from, n * sizeof(T));
  }
};

/// Either of them as a task of two objects.
template <class T, class What>
struct on_objects {
  What what;
  void on_host(std::span<T> into, std::span<const T> from) const { what.row(into.data(), from.data(), into.size()); }
  void on_device(stream& s, std::span<T> into, std::span<const T> from) const {
    what.all(s, into.data(), from.data(), into.size());
  }
};

/// Or of two grids or tiles, row by row on the host; on devices they lie by themselves.
template <class T, class What>
struct on_tiles {
  What what;
  void on_host(tile_view<T> into, tile_view<const T> from) const {
    for (std::size_t z = 0; z < into.extent(2); ++z) {
      for (std::size_t y = 0; y < into.extent(1); ++y) what.row(into.row(y, z), from.row(y, z), into.extent(0));
    }
  }
  void on_device(stream& s, tile_view<T> into, tile_view<const T> from) const {
    what.all(s, into.data(), from.data(), into.size());
  }
};

template <class T, class What>
struct is_codelet<on_objects<T, What>> : std::true_type {};
template <class T, class What>
struct is_codelet<on_tiles<T, What>> : std::true_type {};
template <class T, class What>
struct task_function<on_objects<T, What>> {
  using parameters = std::tuple<std::span<T>, std::span<const T>>;
  using result = void;
  static std::uint8_t runs_on(const on_objects<T, What>& f) { return f.what.runs_on(); }
};
template <class T, class What>
struct task_function<on_tiles<T, What>> {
  using parameters = std::tuple<tile_view<T>, tile_view<const T>>;
  using result = void;
  static std::uint8_t runs_on(const on_tiles<T, What>& f) { return f.what.runs_on(); }
};

}  // namespace detail

}  // namespace imbrex
