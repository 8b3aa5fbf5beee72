#include "imbrex/hetero/submission/untyped_reduction.h"

#include <fmt/format.h>

#include <cstdint>
#include <type_traits>

#include "imbrex/base/error.h"
#include "imbrex/hetero/hetero_data.h"
#include "imbrex/hetero/submission/reduction.h"

namespace imbrex {

namespace {

/// One of `element_operation`, chosen when the program runs.
struct any_operation {
  element_operation on_elements;

  template <class T>
  void operator()(T& into, T&& from) const {
    into = of_both(into, from);
  }
  template <class T>
  T identity() const {
    using limits = std::numeric_limits<T>;
    switch (on_elements) {
      case element_operation::product: return T(1);
      case element_operation::min: return limits::has_infinity ? limits::infinity() : limits::max();
      case element_operation::max: return limits::has_infinity ? -limits::infinity() : limits::lowest();
      case element_operation::bit_and: return bits<T>(~std::uint64_t{0});
      default: return T(0);
    }
  }
  friend bool operator==(const any_operation&, const any_operation&) = default;

 private:
  template <class T>
  static T bits(std::uint64_t b) {
    return static_cast<T>(b);
  }
  template <class T>
  T of_both(T a, T b) const {
    switch (on_elements) {
      case element_operation::product: return a * b;
      case element_operation::min: return b < a ? b : a;
      case element_operation::max: return a < b ? b : a;
      case element_operation::bit_and:
      case element_operation::bit_or:
      case element_operation::bit_xor: return of_bits(a, b);
      default: return a + b;
    }
  }
  template <class T>
  T of_bits(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (on_elements == element_operation::bit_and) return a & b;
      return on_elements == element_operation::bit_or ? a | b : a ^ b;
    } else {
      return a + b;
    }
  }
};

template <class T>
untyped_use part_of(hetero_data& into, element_operation op, std::size_t parts) {
  if (into.bytes % sizeof(T) != 0) {
    throw usage_error(
        fmt::format("a task reduces numbers of {} bytes into an object of {} bytes: make it of a number of them",
                    sizeof(T), into.bytes));
  }
  if (std::is_floating_point_v<T> && op >= element_operation::bit_and)
    throw usage_error(
        "a task reduces floating-point numbers by an operation of bits: reduce whole numbers, or by sum, product, min "
        "or max");
  const any_operation by{op};
  const auto object = hetero_object<T>::of(into, into.bytes / sizeof(T));
  const auto argument = reduce(object, by, by.identity<T>()).over(parts);
  return {detail::reduction_of(*into.domain, argument, object).next_part().data(), access_mode::read_write, &into};
}

template <class T>
std::function<void(const untyped_call&)> combining_of(element_operation op, std::size_t bytes) {
  const detail::combining<T, any_operation> combine{any_operation{op}};
  return [combine, n = bytes / sizeof(T)](const untyped_call& c) {
    auto* const into = reinterpret_cast<T*>(c.objects[0]);
    const auto* const from = reinterpret_cast<const T*>(c.objects[1]);
    c.order != nullptr ? combine.all(*c.order, into, from, n) : combine.row(into, from, n);
  };
}

/// Gives what `f` gives for the type.
template <class F>
auto for_type(number_type t, F f) {
  switch (t) {
    case number_type::int32: return f(int{});
    case number_type::uint32: return f(unsigned{});
    case number_type::int64: return f(long{});
    case number_type::uint64: return f(0UL);
    case number_type::float32: return f(float{});
    case number_type::float64: break;
  }
  return f(double{});
}

}  // namespace

std::size_t bytes_of(number_type t) {
  return for_type(t, [](auto zero) { return sizeof zero; });
}

untyped_use untyped_reduce(hetero_data& into, number_type numbers, element_operation op, std::size_t parts) {
  if (op == element_operation::none)
    throw usage_error("a task reduces by no operation: say sum, product, min, max or one of bits");
  return for_type(numbers, [&](auto zero) { return part_of<decltype(zero)>(into, op, parts); });
}

std::function<void(const untyped_call&)> untyped_combining(number_type numbers, element_operation op,
                                                           std::size_t bytes) {
  return for_type(numbers, [&](auto zero) { return combining_of<decltype(zero)>(op, bytes); });
}

std::function<void(const untyped_call&)> untyped_taking(std::size_t bytes) {
  return [bytes](const untyped_call& c) {
    const detail::taking<std::byte> take;
    c.order != nullptr ? take.all(*c.order, c.objects[0], c.objects[1], bytes)
                       : take.row(c.objects[0], c.objects[1], bytes);
  };
}

std::uint8_t untyped_combining_runs_on() { return detail::combining<int, any_operation>::everywhere(); }

}  // namespace imbrex
