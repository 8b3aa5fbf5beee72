#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "imbrex/base/element_bytes.h"
#include "imbrex/base/error.h"
#include "imbrex/hetero/submission/hetero_object.h"
#include "imbrex/hetero/submission/submit.h"
#include "imbrex/hetero/submission/tile_view.h"

namespace imbrex {

/// Elements along x, y and z, or where a tile begins.
struct grid_extent {
  std::size_t x = 1, y = 1, z = 1;
};
/// An element's place along x, y and z.
struct grid_point {
  std::size_t x = 0, y = 0, z = 0;
};

/// A tile on the host for as long as this lives: as `host_view`.
template <class T>
class host_tile : public tile_view<T> {
 public:
  host_tile() = default;
  host_tile(task_node* t, T* data, const detail::tile_shape& s)
      : tile_view<T>(data, s.extent, s.in_grid), held_(t, data, 0) {}
  /// Ends it early.
  void release() {
    held_.release();
    tile_view<T>::operator=({});
  }

 private:
  host_view<T> held_;
};

/// A coherent object with a shape of up to three axes, x fastest: a grid, or a matrix by columns; or a tile of one.
/// What is said of `hetero_object` holds, with a `tile_view<T>` or `tile_view<const T>` for the parameter of a
/// function, or `T*` and `row_stride(tile)` for those of a kernel.
///
///     imbrex::hetero_grid<double> a({n, n});
///     imbrex::submit({}, factor, a.tile({0, 0}, {b, b}));         // void factor(imbrex::tile_view<double>)
template <class T>
class hetero_grid {
 public:
  using element_type = T;

  hetero_grid() = default;
  /// Elements are undefined until somebody has written them; no memory is taken before the first use.
  explicit hetero_grid(const grid_extent& n) : hetero_grid(hetero_domain::current(), n) {}
  hetero_grid(hetero_domain& domain, const grid_extent& n) : object_(domain, elements_of(n.x, n.y, n.z)), shape_(n) {}
  /// Of elements that are there, in memory of the program's, as `hetero_object::over`: tiles on the host are parts of
  /// it. Throws `usage_error` when they are not as many as the extent says.
  static hetero_grid over(std::span<T> elements, const grid_extent& n) {
    return over(hetero_domain::current(), elements, n);
  }
  static hetero_grid over(hetero_domain& domain, std::span<T> elements, const grid_extent& n) {
    if (elements.size() != elements_of(n.x, n.y, n.z)) {
      throw usage_error("a grid over " + std::to_string(elements.size()) + " elements, but of " + text(n));
    }
    hetero_grid g;
    g.object_ = hetero_object<T>::over(domain, elements);
    g.shape_ = detail::tile_shape(n);
    return g;
  }

  /// An object's elements as a grid; they are as many as the extent says.
  static hetero_grid of(const hetero_object<T>& elements, const grid_extent& n) {
    if (elements.size() != n.x * n.y * n.z) {
      throw usage_error("a grid of " + text(n) + " elements, of an object of " + std::to_string(elements.size()));
    }
    hetero_grid g;
    g.object_ = elements;
    g.shape_ = detail::tile_shape(n);
    return g;
  }

  /// A grid of its own with the elements as they are after all tasks submitted by now: a tile by itself, its rows one
  /// behind the other. Made where the newest data are.
  hetero_grid copy() const {
    hetero_grid to(*domain(), extent());
    const auto rows = [](tile_view<const T> from, tile_view<T> into) {
      for (std::size_t z = 0; z < from.extent(2); ++z) {
        for (std::size_t y = 0; y < from.extent(1); ++y) std::copy_n(from.row(y, z), from.extent(0), into.row(y, z));
      }
    };
    const auto all = [](stream& s, tile_view<const T> from, tile_view<T> into) {
      s.copy(into.data(), from.data(), from.size() * sizeof(T));
    };
    if (size() > 0) submit(*domain(), task_options{.name = "copy"}, codelet{rows, all}, *this, write(to));
    return to;
  }

  grid_extent extent() const { return {shape_.extent[0], shape_.extent[1], shape_.extent[2]}; }
  std::size_t size() const { return object_.size(); }
  bool exists() const { return object_.exists(); }
  hetero_domain* domain() const { return object_.domain(); }

  /// A part of this grid or tile, as a tile of its own: with dependencies and copies of its own, on the host in the
  /// memory of the grid, on devices by itself. Tiles may overlap, as a block with its halo does with its neighbours;
  /// but a task does not use two that overlap and write one. The same box gives the same tile.
  /// Throws `usage_error` for one that is empty or not inside.
  hetero_grid tile(const grid_point& at, const grid_extent& n) const {
    const std::array<std::size_t, 3> from{at.x, at.y, at.z}, size{n.x, n.y, n.z};
    part_of_object which{.row_bytes = shape_.in_grid[1] * sizeof(T),
                         .num_rows = shape_.in_grid[2] / shape_.in_grid[1],
                         .element_bytes = sizeof(T)};
    for (std::size_t i = 0; i < 3; ++i) {
      if (size[i] == 0 || from[i] > shape_.extent[i] || size[i] > shape_.extent[i] - from[i]) {
        throw usage_error("a tile of " + text(n) + " elements from (" + std::to_string(at.x) + ", " +
                          std::to_string(at.y) + ", " + std::to_string(at.z) + "), of a grid of " + text(extent()) +
                          ": it has to be inside, and not empty");
      }
      which.where.begin[i] = from[i] * (i == 0 ? sizeof(T) : 1);
      which.where.end[i] = (from[i] + size[i]) * (i == 0 ? sizeof(T) : 1);
    }
    hetero_grid part;
    part.object_ = object_.part(which, n.x * n.y * n.z);
    part.shape_ = shape_;
    part.shape_.extent = size;
    return part;
  }

  /// `auto view = co_await tile.host(imbrex::access_mode::read)`: a `host_tile<const T>`.
  template <access_mode::kind Mode>
  auto host(access_mode::constant<Mode> mode) const {
    static_assert(Mode != access_mode::kind::commute, "imbrex: a view has its place in the order of uses");
    using seen = std::conditional_t<Mode == access_mode::kind::read, const T, T>;
    return host_access<seen, host_tile<seen>, detail::tile_shape>(*domain(), *object_.data(), shape_, mode);
  }
  void prefetch(device_kind kind, int number = -1) const {
    auto nothing = [](stream&, tile_view<const T>) {};
    submit(*domain(), task_options{.name = "prefetch", .on = kind, .number = number}, nothing, *this);
  }
  /// As a plain object, for what takes all elements in one row, such as functions of a `std::span`. Throws
  /// `usage_error` for a tile whose rows do not follow each other in the grid: `copy().object()` is one of its own.
  const hetero_object<T>& object() const {
    if (!is_dense()) {
      throw usage_error("a tile of " + text(extent()) +
                        " elements was taken for a plain object: its rows lie apart in the grid");
    }
    return object_;
  }
  /// Whether its rows follow each other on the host, too.
  bool is_dense() const {
    const auto apart = [&](std::size_t axis) { return shape_.in_grid[axis] != shape_.alone()[axis]; };
    return !(shape_.extent[1] > 1 && apart(1)) && !(shape_.extent[2] > 1 && apart(2));
  }
  void evict() const { object_.evict(); }
  void release() { object_.release(); }

  /// \name For those who belong to it
  ///@{
  static hetero_grid of(hetero_data& d, const detail::tile_shape& s) {
    hetero_grid g;
    g.object_ = hetero_object<T>::of(d, s.extent[0] * s.extent[1] * s.extent[2]);
    g.shape_ = s;
    return g;
  }
  const hetero_object<T>& handle() const { return object_; }
  const detail::tile_shape& shape() const { return shape_; }
  ///@}

 private:
  static std::string text(const grid_extent& n) {
    return std::to_string(n.x) + " x " + std::to_string(n.y) + " x " + std::to_string(n.z);
  }

  hetero_object<T> object_;
  detail::tile_shape shape_;
};

/// One used in another way than the parameter says.
template <class T, access_mode Mode>
struct grid_with_access {
  hetero_grid<T> grid;
};
/// \name As for `hetero_object`
///@{
template <class T>
grid_with_access<T, access_mode::read> read(hetero_grid<T> g) {
  return {std::move(g)};
}
template <class T>
grid_with_access<T, access_mode::write> write(hetero_grid<T> g) {
  return {std::move(g)};
}
template <class T>
grid_with_access<T, access_mode::read_write> read_write(hetero_grid<T> g) {
  return {std::move(g)};
}
template <class T>
grid_with_access<T, access_mode::commute> commute(hetero_grid<T> g) {
  return {std::move(g)};
}
///@}

/// Elements from one row, or plane, of a tile to the next where a task runs: a value that is known then.
struct tile_stride {
  std::size_t in_grid, alone;
};
/// \name As arguments beside a tile, for a kernel: `submit({}, k, shape, tile, row_stride(tile))`
///@{
template <class T>
tile_stride row_stride(const hetero_grid<T>& g) {
  return {g.shape().in_grid[1], g.shape().alone()[1]};
}
template <class T>
tile_stride plane_stride(const hetero_grid<T>& g) {
  return {g.shape().in_grid[2], g.shape().alone()[2]};
}
///@}

namespace detail {

template <class T>
struct task_argument<hetero_grid<T>> {
  static constexpr bool is_object = true;
  static constexpr bool says_access = false;
  using element = T;
  using stored = tile_shape;
  static const hetero_object<T>& object(const hetero_grid<T>& g) { return g.handle(); }
  static const tile_shape& store(const hetero_grid<T>& g) { return g.shape(); }
  template <class P>
  static constexpr bool fits = object_parameter<P>::takes_tiles;
  template <class P>
  static P make(std::byte* at, const tile_shape& s, const task_call& c) {
    return object_parameter<P>::make_tile(at, s, c.at->is_host());
  }
};
template <class T, access_mode Mode>
struct task_argument<grid_with_access<T, Mode>> : task_argument<hetero_grid<T>> {
  static constexpr bool says_access = true;
  static constexpr access_mode mode = Mode;
  static const hetero_object<T>& object(const grid_with_access<T, Mode>& g) { return g.grid.handle(); }
  static const tile_shape& store(const grid_with_access<T, Mode>& g) { return g.grid.shape(); }
};
template <>
struct task_argument<tile_stride> : value_argument<tile_stride> {
  using seen = std::size_t;
  static std::size_t get(const tile_stride& s, const task_call& c) { return c.at->is_host() ? s.in_grid : s.alone; }
};

}  // namespace detail

}  // namespace imbrex
