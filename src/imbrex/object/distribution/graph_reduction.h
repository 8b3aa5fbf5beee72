#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/hetero/submission/reduction.h"
#include "imbrex/object/distribution/distributed.h"
#include "imbrex/object/distribution/task_graph.h"

/// Tasks of a graph that add up to an object, on whatever rank each of them runs.
namespace imbrex {

/// One object of a graph, to reduce into: see `reduce`.
template <class T, class Op>
using ref_to_reduce = reduction_into<distributed_ref<T>, T, Op>;

/// \name As for `hetero_object`: `g.submit({}, norm, a(i), imbrex::reduce(total(0), imbrex::sum))`
/// The task runs where its other objects say, and only if it has none, where this one lives: nothing travels for it.
/// When the object is next used otherwise, or all ranks wait for `g.done()`, what is on the ranks is combined along a
/// tree that ends at its owner's. A task that reduces into an object uses it by no other argument. The bits depend on
/// which task runs on which rank, and so on owners, and on nothing else.
///@{
template <class T, class Op>
ref_to_reduce<T, Op> reduce(distributed_ref<T> into, Op op, T identity) {
  return {into, std::move(op), identity};
}
template <class T, class Op>
ref_to_reduce<T, Op> reduce(distributed_ref<T> into, Op op) {
  return {into, op, Op::template identity<T>()};
}
///@}

namespace detail {

template <class T, class Op>
class graph_reduction_of final : public graph_reduction {
 public:
  graph_reduction_of(task_graph& g, const ref_to_reduce<T, Op>& a, std::size_t size)
      : graph_(g), into_(a), parts_(g, g.num_ranks(), size), has_(static_cast<std::size_t>(g.num_ranks())) {}

  bool is(const ref_to_reduce<T, Op>& a) const {
    if constexpr (std::equality_comparable<Op>) {
      if (!(into_.op == a.op)) return false;
    }
    return into_.width == a.width;
  }
  /// A task that adds to it runs on this rank.
  void runs_on(rank_id r) { has_[static_cast<std::size_t>(r)] = true; }
  /// Where it adds to, on the calling rank.
  reduce_argument<T, Op> here() { return {mine(), into_.op, into_.identity, into_.width, into_.by_kernel}; }

  void close(int priority) override {
    if (has_[static_cast<std::size_t>(graph_.rank())]) {
      hetero_data& d = *mine().data();
      if (d.reducing != nullptr) hetero_domain::close_reduction(d, priority);
    }
    const rank_id root = into_.object.owner();
    std::vector<rank_id> all;
    for (rank_id k = 0; k < graph_.num_ranks(); ++k) {
      const rank_id r = (root + k) % graph_.num_ranks();
      if (has_[static_cast<std::size_t>(r)]) all.push_back(r);
    }
    const on_objects<T, combining<T, Op>> combine{{into_.op, into_.by_kernel}};
    graph_task_options o{.name = "combine", .priority = priority};
    for (std::size_t step = 1; step < all.size(); step *= 2) {
      for (std::size_t i = 0; i + step < all.size(); i += 2 * step) {
        graph_.submit(o, combine, parts_(all[i]), parts_(all[i + step]));
      }
    }
    if (into_.object.shared().version > 0) {
      graph_.submit(o, combine, into_.object, parts_(all[0]));
    } else {
      graph_.submit(o, on_objects<T, taking<T>>{}, write(into_.object), parts_(all[0]));
    }
  }

 private:
  hetero_object<T> mine() {
    shared_object& o = parts_(graph_.rank()).shared();
    o.set->here(o.index);
    return parts_.here(graph_.rank());
  }

  task_graph& graph_;
  const ref_to_reduce<T, Op> into_;
  distributed<T> parts_;   // one on each rank
  std::vector<bool> has_;  // by rank
};

template <class T, class Op>
struct graph_argument<ref_to_reduce<T, Op>> {
  static constexpr bool is_object = false;
  static constexpr bool is_reduction = true;
  using local = with_access<T, access_mode::read_write>;  // as far as a parameter can tell

  static shared_object& object(const ref_to_reduce<T, Op>& a) { return a.object.shared(); }
  /// By all ranks, for a task on rank `where`.
  static void open(task_graph& g, const ref_to_reduce<T, Op>& a, rank_id where) {
    shared_object& o = a.object.shared();
    auto* open = dynamic_cast<graph_reduction_of<T, Op>*>(o.reducing.get());
    if (open == nullptr || !open->is(a)) {
      g.close_reduction(o, 0);
      auto fresh = std::make_unique<graph_reduction_of<T, Op>>(g, a, o.set->size_of(o.index));
      open = fresh.get();
      g.open_reduction(o, std::move(fresh));
    }
    open->runs_on(where);
  }
  static reduce_argument<T, Op> here(const ref_to_reduce<T, Op>& a) {
    return static_cast<graph_reduction_of<T, Op>&>(*a.object.shared().reducing).here();
  }
};

}  // namespace detail

}  // namespace imbrex
