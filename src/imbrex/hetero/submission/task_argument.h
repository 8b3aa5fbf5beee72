#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "imbrex/device/buffer.h"
#include "imbrex/hetero/access_mode.h"
#include "imbrex/hetero/submission/task_result.h"
#include "imbrex/hetero/submission/tile_view.h"
#include "imbrex/hetero/task_node.h"
#include "imbrex/hetero/tasks/hetero_domain.h"

/// What stands where a task's parameters stand: objects, memory for the task alone, results of other tasks, values.
namespace imbrex {

template <class T>
class hetero_object;

/// An object as an argument, used in another way than the parameter says.
template <class T, access_mode Mode>
struct with_access {
  hetero_object<T> object;
};
/// \name `imbrex::write(c)`: the task overwrites all of `c`, and so does not need what is there; `imbrex::commute(c)`:
/// it changes `c` as others do that commute, one at a time, in whatever order they can run. (A part of an object, and
/// an object with parts, is changed in the order of submission; so is one in a window.)
///@{
template <class T>
with_access<T, access_mode::read> read(hetero_object<T> o) {
  return {std::move(o)};
}
template <class T>
with_access<T, access_mode::write> write(hetero_object<T> o) {
  return {std::move(o)};
}
template <class T>
with_access<T, access_mode::read_write> read_write(hetero_object<T> o) {
  return {std::move(o)};
}
template <class T>
with_access<T, access_mode::commute> commute(hetero_object<T> o) {
  return {std::move(o)};
}
///@}

/// Memory for one task, where it runs, of which nothing is kept: see `scratch`.
template <class T>
struct scratch_memory {
  std::size_t size;
};
/// As an argument: `size` elements of type `T`, undefined, that only this task uses; where its parameter is a pointer,
/// a span or a `buffer_view` of elements that are not const.
template <class T>
scratch_memory<T> scratch(std::size_t size) {
  return {size};
}

namespace detail {

/// What an argument is for a domain: most are themselves.
template <class A>
struct argument_in {
  static const A& of(hetero_domain&, const A& a) { return a; }
};
template <class T>
struct argument_in<scratch_memory<T>> {
  static auto of(hetero_domain& domain, const scratch_memory<T>& s) { return write(hetero_object<T>(domain, s.size)); }
};

/// How large a tile is, and how far apart its rows and planes are in the grid: in elements.
struct tile_shape {
  tile_shape() = default;
  explicit tile_shape(const auto& n) : extent{n.x, n.y, n.z} { in_grid = alone(); }

  std::array<std::size_t, 3> alone() const { return {1, extent[0], extent[0] * extent[1]}; }
  std::array<std::size_t, 3> extent{0, 0, 0};
  std::array<std::size_t, 3> in_grid{1, 0, 0};
};

/// What an argument is: a value, kept as it is; or, in what follows, an object, used so or as the parameter says.
template <class A>
struct value_argument {
  static constexpr bool is_object = false;
  using stored = A;
  using seen = A;
  static const A& store(const A& a) { return a; }
  static const A& get(const A& a, const task_call&) { return a; }
};
template <class A>
struct task_argument : value_argument<A> {};
template <class R>
struct task_argument<task_result<R>> : value_argument<task_result<R>> {
  using seen = const R&;
  static const R& get(const task_result<R>& r, const task_call&) { return r.value(); }
};
template <class A>
constexpr bool is_result = false;
template <class R>
constexpr bool is_result<task_result<R>> = true;

/// A parameter that stands for an object: `T*`, `const T*`, `std::span<T>`, `std::span<const T>`, `buffer_view` of
/// them; or for a tile: `T*`, `tile_view<T>` and those of const.
template <class P>
struct object_parameter {
  static constexpr bool takes_objects = false;
  static constexpr bool takes_tiles = false;
};
template <class T>
struct element_parameter {
  static constexpr bool takes_objects = true;
  static constexpr bool takes_tiles = false;
  using element = std::remove_const_t<T>;
  static constexpr bool reads_only = std::is_const_v<T>;
};
template <class T>
struct object_parameter<T*> : element_parameter<T> {
  static constexpr bool takes_tiles = true;
  static T* make(std::byte* at, std::size_t, memory_kind) { return reinterpret_cast<T*>(at); }
  static T* make_tile(std::byte* at, const tile_shape&, bool) { return reinterpret_cast<T*>(at); }
};
template <class T>
struct object_parameter<std::span<T>> : element_parameter<T> {
  static std::span<T> make(std::byte* at, std::size_t n, memory_kind) { return {reinterpret_cast<T*>(at), n}; }
};
template <class T>
struct object_parameter<buffer_view<T>> : element_parameter<T> {
  static buffer_view<T> make(std::byte* at, std::size_t n, memory_kind k) { return {reinterpret_cast<T*>(at), n, k}; }
};
template <class T>
struct object_parameter<tile_view<T>> : element_parameter<T> {
  static constexpr bool takes_objects = false;
  static constexpr bool takes_tiles = true;
  static tile_view<T> make_tile(std::byte* at, const tile_shape& s, bool in_grid) {
    return {reinterpret_cast<T*>(at), s.extent, in_grid ? s.in_grid : s.alone()};
  }
};

template <class T>
struct task_argument<hetero_object<T>> {
  static constexpr bool is_object = true;
  static constexpr bool says_access = false;
  using element = T;
  using stored = std::size_t;  // elements
  static const hetero_object<T>& object(const hetero_object<T>& o) { return o; }
  static std::size_t store(const hetero_object<T>& o) { return o.size(); }
  template <class P>
  static constexpr bool fits = object_parameter<P>::takes_objects;
  template <class P>
  static P make(std::byte* at, std::size_t n, const task_call& c) {
    return object_parameter<P>::make(at, n, c.at->is_host() ? memory_kind::host : c.at->on().allocates());
  }
};
template <class T, access_mode Mode>
struct task_argument<with_access<T, Mode>> : task_argument<hetero_object<T>> {
  static constexpr bool says_access = true;
  static constexpr access_mode mode = Mode;
  static const hetero_object<T>& object(const with_access<T, Mode>& o) { return o.object; }
  static std::size_t store(const with_access<T, Mode>& o) { return o.object.size(); }
};

template <class P, class A>
constexpr access_mode access_of() {
  using argument = task_argument<A>;
  if constexpr (argument::says_access) {
    static_assert(!object_parameter<P>::reads_only || argument::mode == access_mode::read,
                  "submit: the parameter is const, but the argument says that it is written");
    return argument::mode;
  } else {
    if constexpr (object_parameter<P>::reads_only) return access_mode::read;
    return access_mode::read_write;
  }
}

template <class P, class A>
constexpr bool check_argument() {
  using argument = task_argument<A>;
  if constexpr (argument::is_object) {
    static_assert(
        argument::template fits<P>,
        "submit: the argument is an object: its parameter must be a pointer, std::span or buffer_view; that of "
        "a tile a pointer or tile_view");
    static_assert(std::is_same_v<typename object_parameter<P>::element, typename argument::element>,
                  "submit: the object's elements are of another type than the parameter's");
  } else {
    static_assert(std::is_convertible_v<typename argument::seen, P>, "submit: an argument does not fit its parameter");
    static_assert(!std::is_pointer_v<P>, "submit: a pointer parameter stands for a hetero_object: pass one");
  }
  return true;
}

}  // namespace detail

}  // namespace imbrex
