#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "imbrex/base/element_bytes.h"
#include "imbrex/base/error.h"
#include "imbrex/hetero/submission/hetero_object.h"
#include "imbrex/object/distribution/task_graph.h"
#include "imbrex/object/entry/index.h"
#include "imbrex/object/entry/map.h"

namespace imbrex {

/// One object of a `distributed`, as an argument of a task: `a(i, j)`, `write(a(i, j))`. As long as that lives.
template <class T>
class distributed_ref {
 public:
  using element_type = T;
  distributed_ref(detail::shared_object& o, hetero_object<T>& here) : shared_(&o), here_(&here) {}

  rank_id owner() const { return shared_->owner; }
  detail::shared_object& shared() const { return *shared_; }
  /// This rank's handle; empty where the rank has nothing to do with the object now.
  const hetero_object<T>& here() const { return *here_; }

 private:
  detail::shared_object* shared_;
  hetero_object<T>* here_;
};

/// One used in another way than the parameter says.
template <class T, access_mode Mode>
struct ref_with_access {
  distributed_ref<T> object;
};
/// \name As for `hetero_object`
///@{
template <class T>
ref_with_access<T, access_mode::read> read(distributed_ref<T> o) {
  return {o};
}
template <class T>
ref_with_access<T, access_mode::write> write(distributed_ref<T> o) {
  return {o};
}
template <class T>
ref_with_access<T, access_mode::read_write> read_write(distributed_ref<T> o) {
  return {o};
}
template <class T>
ref_with_access<T, access_mode::commute> commute(distributed_ref<T> o) {
  return {o};
}
///@}

/// Objects of a `task_graph`, by index: tiles of a matrix, blocks of a grid. Each is owned by a rank, where tasks that
/// write it run: `map` says which, as for chare arrays, over ranks (`map::block`, `map::round_robin`,
/// `map::block_cyclic`, or a function object of one's own); it must say the same on every rank. Elements are undefined
/// until a task has written them, and take no memory before. Made by all ranks in the same order.
///
///     imbrex::distributed<double, imbrex::index2d> a(g, {n, n}, tile * tile, imbrex::map::block_cyclic{});
///     g.submit({.name = "gemm"}, gemm, a(i, k), a(j, k), a(i, j), tile);
template <class T, class Index = index1d>
class distributed final : detail::object_set {
  static_assert(std::is_trivially_copyable_v<T>, "imbrex: objects hold trivially copyable elements");
  static_assert(is_grid_index<Index>, "imbrex: objects of a graph have index1d, index2d or index3d");

 public:
  /// Each of `size` elements.
  template <class Map = map::block>
  distributed(task_graph& g, const Index& extent, std::size_t size, const Map& m = {})
      : distributed(g, extent, [size](const Index&) { return size; }, m) {}
  /// Of as many elements as `size_of(index)` says.
  template <std::invocable<const Index&> Size, class Map = map::block>
  distributed(task_graph& g, const Index& extent, Size size_of, const Map& m = {}) : extent_(extent) {
    const std::size_t n = volume(extent);
    shared_ = std::vector<detail::shared_object>(n);
    handles_.resize(n);
    sizes_.reserve(n);
    graph = &g;
    detail::graph_digest made_of;
    made_of.add(n);
    for (std::size_t i = 0; i < n; ++i) {
      const Index at = from_linear(i, extent);
      sizes_.push_back(size_of(at));
      shared_[i].set = this;
      shared_[i].index = static_cast<std::uint32_t>(i);
      shared_[i].owner = map_to_pe(m, at, extent, g.num_ranks());
      if (shared_[i].owner < 0 || shared_[i].owner >= g.num_ranks()) {
        throw usage_error(fmt::format("the map gives object {} to rank {}: there are ranks 0 to {}", to_text(at),
                                      shared_[i].owner, g.num_ranks() - 1));
      }
      made_of.add(bytes_of(sizes_[i], sizeof(T)));
      made_of.add(static_cast<std::uint64_t>(shared_[i].owner));
    }
    number = g.add_set(made_of.mixed);
  }
  /// Tasks that use them go on.
  ~distributed() override {
    for (detail::shared_object& o : shared_) {
      if (o.reducing != nullptr) graph->drop_reduction(o);
    }
    const auto kept = [](const detail::shared_object& o) { return o.here != detail::shared_object::never; };
    graph->remove_kept(static_cast<std::size_t>(std::ranges::count_if(shared_, kept)));
  }

  const Index& extent() const { return extent_; }
  distributed_ref<T> operator[](const Index& at) {
    if (!within(at)) [[unlikely]] {
      throw usage_error(
          fmt::format("object {} of a distributed of extent {}: there is none", to_text(at), to_text(extent_)));
    }
    const std::uint64_t i = linear(at, extent_);
    return {shared_[i], handles_[i]};
  }
  template <std::convertible_to<std::int32_t>... N>
  distributed_ref<T> operator()(N... n) {
    return (*this)[Index{static_cast<std::int32_t>(n)...}];
  }

  /// What this rank has of an object: where `owner()` is this rank its own, behind all tasks submitted by now; else
  /// what is kept here, or an empty handle. For `co_await a.here(i, j).host(...)`; only to be read.
  template <std::convertible_to<std::int32_t>... N>
  hetero_object<T> here(N... n) {
    const distributed_ref<T> r = (*this)(n...);
    if (r.shared().reducing != nullptr) {
      throw usage_error(
          "an object of a graph was asked for that tasks have reduced into: all ranks wait for g.done() "
          "before, or read it by imbrex::values");
    }
    return r.here();
  }

 private:
  hetero_data& here(std::size_t i) override {
    if (!handles_[i].exists()) handles_[i] = hetero_object<T>(graph->domain(), sizes_[i]);
    return *handles_[i].data();
  }
  std::size_t size_of(std::size_t i) const override { return sizes_[i]; }
  void give_up(std::size_t i) override { handles_[i].release(); }

  bool within(const Index& at) const {
    bool inside = at.x >= 0 && at.x < extent_.x;
    if constexpr (!std::is_same_v<Index, index1d>) inside = inside && at.y >= 0 && at.y < extent_.y;
    if constexpr (std::is_same_v<Index, index3d>) inside = inside && at.z >= 0 && at.z < extent_.z;
    return inside;
  }

  Index extent_;
  std::vector<detail::shared_object> shared_;
  std::vector<hetero_object<T>> handles_;
  std::vector<std::size_t> sizes_;
};

}  // namespace imbrex
