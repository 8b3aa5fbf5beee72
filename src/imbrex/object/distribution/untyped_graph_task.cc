#include "imbrex/object/distribution/untyped_graph_task.h"

#include <memory>
#include <utility>

namespace imbrex {

namespace {

/// As `graph_reduction_of`, of numbers whose type is known when the program runs.
class reduction_of_bytes final : public detail::graph_reduction {
 public:
  reduction_of_bytes(task_graph& g, const distributed_ref<std::byte>& into, const untyped_graph_reduction& how)
      : graph_(g),
        into_(into),
        how_(how),
        bytes_(into.shared().set->size_of(into.shared().index)),
        parts_(g, g.num_ranks(), bytes_),
        has_(static_cast<std::size_t>(g.num_ranks())) {}

  bool is(const untyped_graph_reduction& how) const { return how_.is(how); }
  void runs_on(rank_id r) { has_[static_cast<std::size_t>(r)] = true; }
  untyped_use here() {
    return how_.own != nullptr ? untyped_reduce(mine(), how_.own, how_.parts)
                               : untyped_reduce(mine(), how_.numbers, how_.op, how_.parts);
  }

  void close(int priority) override {
    if (has_[static_cast<std::size_t>(graph_.rank())] && mine().reducing != nullptr)
      hetero_domain::close_reduction(mine(), priority);
    std::vector<rank_id> all;
    for (rank_id k = 0; k < graph_.num_ranks(); ++k) {
      const rank_id r = (into_.owner() + k) % graph_.num_ranks();
      if (has_[static_cast<std::size_t>(r)]) all.push_back(r);
    }
    for (std::size_t step = 1; step < all.size(); step *= 2) {
      for (std::size_t i = 0; i + step < all.size(); i += 2 * step) combine(parts_(all[i]), all[i + step], priority);
    }
    if (into_.shared().version > 0) {
      combine(into_, all[0], priority);
    } else {
      submit(untyped_combining_runs_on(), untyped_taking(bytes_), {into_, access_mode::write}, all[0], priority);
    }
  }

 private:
  hetero_data& mine() {
    detail::shared_object& o = parts_(graph_.rank()).shared();
    return o.set->here(o.index);
  }
  void combine(distributed_ref<std::byte> into, rank_id from, int priority) {
    const untyped_graph_use whole{into, access_mode::read_write};
    if (how_.own != nullptr) {
      submit(how_.own->runs_on(), how_.own->combining(bytes_), whole, from, priority);
    } else {
      submit(untyped_combining_runs_on(), untyped_combining(how_.numbers, how_.op, bytes_), whole, from, priority);
    }
  }
  void submit(std::uint8_t where, std::function<void(const untyped_call&)> f, const untyped_graph_use& into,
              rank_id from, int priority) {
    const graph_task_options o{.name = "combine", .priority = priority};
    submit_untyped(graph_, o, where, {into, {parts_(from), access_mode::read}}, std::move(f));
  }

  task_graph& graph_;
  const distributed_ref<std::byte> into_;
  const untyped_graph_reduction how_;
  const std::size_t bytes_;
  distributed<std::byte> parts_;  // one on each rank
  std::vector<bool> has_;         // by rank
};

/// By all ranks, for a task on rank `where`.
void open_reduction(task_graph& g, const untyped_graph_use& u, rank_id where) {
  detail::shared_object& o = u.object.shared();
  auto* open = dynamic_cast<reduction_of_bytes*>(o.reducing.get());
  if (open == nullptr || !open->is(*u.reduces)) {
    g.close_reduction(o, 0);
    auto fresh = std::make_unique<reduction_of_bytes>(g, u.object, *u.reduces);
    open = fresh.get();
    g.open_reduction(o, std::move(fresh));
  }
  open->runs_on(where);
}

untyped_use use_here(const untyped_graph_use& u) {
  if (!u.reduces) return {u.object.here().data(), u.mode};
  return static_cast<reduction_of_bytes&>(*u.object.shared().reducing).here();
}

/// `start(options, uses)` where the task runs.
template <class Start>
hetero_task submit_somewhere(task_graph& g, const graph_task_options& o, const std::vector<untyped_graph_use>& uses,
                             Start start) {
  std::vector<detail::graph_use> shared;
  std::vector<detail::shared_object*> reduced;
  for (const untyped_graph_use& u : uses) {
    if (u.reduces) {
      reduced.push_back(&u.object.shared());
    } else {
      shared.push_back({&u.object.shared(), u.mode});
    }
  }
  std::vector<rank_id> senders(shared.size());
  const auto open = [&](rank_id where) {
    for (const untyped_graph_use& u : uses) {
      if (u.reduces) open_reduction(g, u, where);
    }
  };
  return g.submit_uses(o, shared, senders, reduced, open, [&](const task_options& here) {
    std::vector<untyped_use> mine;
    mine.reserve(uses.size());
    for (const untyped_graph_use& u : uses) mine.push_back(use_here(u));
    return start(here, std::move(mine));
  });
}

}  // namespace

hetero_task submit_untyped(task_graph& g, const graph_task_options& o, std::uint8_t where,
                           const std::vector<untyped_graph_use>& uses, std::function<void(const untyped_call&)> f) {
  return submit_somewhere(g, o, uses, [&](const task_options& here, std::vector<untyped_use> mine) {
    return submit_untyped(g.domain(), here, where, std::move(mine), std::move(f));
  });
}

hetero_task submit_untyped(task_graph& g, const graph_task_options& o, const kernel_source& k,
                           const launch_shape& shape, const std::vector<untyped_graph_use>& uses,
                           std::vector<std::vector<std::byte>> values) {
  return submit_somewhere(g, o, uses, [&](const task_options& here, std::vector<untyped_use> mine) {
    return submit_untyped(g.domain(), here, k, shape, std::move(mine), std::move(values));
  });
}

}  // namespace imbrex
