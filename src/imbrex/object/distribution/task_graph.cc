#include "imbrex/object/distribution/task_graph.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

using detail::graph_use;
using detail::shared_object;

namespace {
detail::object_desk& desk() { return detail::object_desk::of(scheduler::current()); }
}  // namespace

void detail::check_same_graph(const graph_digest& of_rank_0, const graph_digest& of_rank, rank_id rank) {
  if (of_rank_0 == of_rank) return;
  throw usage_error(
      fmt::format("ranks 0 and {} have submitted different graphs, of {} and {} tasks: what is made and submitted may "
                  "depend on arguments and the number of ranks, not on a rank, nor on times or random numbers of one",
                  rank, of_rank_0.num_tasks, of_rank.num_tasks));
}

std::size_t task_graph::key_hash::operator()(const key& k) const {
  return static_cast<std::size_t>(mix(k.object ^ std::uint64_t{k.version} << 40));
}

task_graph::task_graph(rank_id rank, int num_ranks, detail::graph_link& link)
    : rank_(rank), num_ranks_(num_ranks), domain_(hetero_domain::current()), link_(link) {}

task_graph::~task_graph() = default;

// ------------------------------------------------------------------------------------------------ submission

rank_id task_graph::place(const graph_task_options& o, std::span<const graph_use> uses,
                          std::span<shared_object* const> reduced) const {
  if (o.rank >= 0) {
    if (o.rank < num_ranks_) return o.rank;
    throw usage_error(
        fmt::format("task '{}' for rank {}: there are ranks 0 to {}", o.name.text(), o.rank, num_ranks_ - 1));
  }
  for (const graph_use& u : uses) {
    if (writes(u.mode)) return u.what->owner;
  }
  if (!uses.empty()) return uses.front().what->owner;
  return reduced.empty() ? 0 : reduced.front()->owner;
}

/// See `check_reduced_objects`.
void task_graph::check_reduced(const graph_task_options& o, std::span<const graph_use> uses,
                               std::span<shared_object* const> reduced) {
  for (const shared_object* r : reduced) {
    const bool is_used = std::ranges::any_of(uses, [&](const graph_use& u) { return u.what == r; });
    if (!is_used && std::ranges::count(reduced, r) == 1) continue;
    throw usage_error(fmt::format(
        "task '{}' reduces into object {} of the graph's {}. distributed, which another of its arguments is, "
        "too: what a task adds is apart from the object until another uses that, so give it once",
        o.name.text(), r->index, r->set->number + 1));
  }
}

void task_graph::open_reduction(shared_object& into, std::unique_ptr<detail::graph_reduction> r) {
  if (into.set->graph != this) throw usage_error("a task of a graph reduces into an object of another graph");
  reduced_into_.push_back(&into);
  into.reducing = std::move(r);
}

void task_graph::close_reduction(shared_object& into, int priority) {
  if (into.reducing == nullptr) return;
  const auto r = std::move(into.reducing);
  std::erase(reduced_into_, &into);
  r->close(priority);
}

void task_graph::drop_reduction(shared_object& into) {
  std::erase(reduced_into_, &into);
  into.reducing = nullptr;
}

void task_graph::close_reductions() {
  while (!reduced_into_.empty()) close_reduction(*reduced_into_.front(), 0);
}

rank_id task_graph::note_reader(rank_id where, const graph_use& use) {
  shared_object& o = *use.what;
  if (o.set->graph != this) throw usage_error("a task of a graph uses an object of another graph");
  if (!reads(use.mode) || where == o.owner || o.others.has(where)) return nobody;
  const rank_id sender = o.others.next_sender(o.owner);
  o.others.add(where);
  return sender;
}

/// Before the task: what it reads, and its rank does not have, comes from `sender`.
void task_graph::bring(rank_id where, const graph_use& use, rank_id sender) {
  shared_object& o = *use.what;
  if (sender == rank_) send(o, where, o.version);
  if (where != rank_) return;
  if (o.owner == rank_) {
    o.set->here(o.index);
  } else if (!reads(use.mode)) {
    drop(o);  // earlier uses of what is here need not end first
    o.set->here(o.index);
  } else if (sender != nobody) {
    drop(o);
    ++num_kept_;
    o.here = o.version;
    expect(o, sender, o.version);
  }
}

/// Behind the task: what it has written goes to who owns it.
void task_graph::send_home(rank_id where, const graph_use& use) {
  shared_object& o = *use.what;
  if (!writes(use.mode) || o.owner == where) return;
  if (where == rank_) send(o, o.owner, o.version + 1);
  if (o.owner == rank_) expect(o, where, o.version + 1);
}

void task_graph::note_write(rank_id where, const graph_use& use) {
  if (!writes(use.mode)) return;
  shared_object& o = *use.what;
  ++o.version;
  o.others.clear();
  if (where != o.owner) o.others.add(where);
  if (o.owner == rank_) return;
  if (where == rank_) {
    if (o.here == shared_object::never) ++num_kept_;
    o.here = o.version;
  } else if (o.here != shared_object::never) {
    drop(o);
  }
}

void task_graph::evict(shared_object& o) {
  if (o.set->graph != this) throw usage_error("an object of another graph shall be evicted");
  if (o.version > 0 && (o.owner == rank_ || o.here != shared_object::never)) domain_.evict(o.set->here(o.index));
}

/// The new owner has been sent the data, and knows that the one before keeps them: of others' copies it knows nothing.
void task_graph::migrate(shared_object& o, rank_id to) {
  if (o.set->graph != this) throw usage_error("an object of another graph shall migrate");
  if (to < 0 || to >= num_ranks_) {
    throw usage_error(
        fmt::format("an object of a graph shall migrate to rank {}: there are ranks 0 to {}", to, num_ranks_ - 1));
  }
  close_reduction(o, 0);
  digest_.add(number_of(o) << 16 | static_cast<std::uint64_t>(to) << 1 | 1U);
  const rank_id from = o.owner;
  if (to == from) return;
  const bool has_data = o.version > 0;
  if (has_data) {
    const graph_use use{&o, access_mode::read};
    bring(to, use, note_reader(to, use));
    ++o.version;  // a rank is sent a version once, though copies of others are given up now
  }
  o.others.clear();
  if (has_data) o.others.add(from);
  if (rank_ == to) {
    if (o.here != shared_object::never) --num_kept_;
    o.here = shared_object::never;
  } else if (rank_ == from && has_data) {
    o.here = o.version;
    ++num_kept_;
  } else if (rank_ == from) {
    o.set->give_up(o.index);
  } else if (o.here != shared_object::never) {
    drop(o);
  }
  o.owner = to;
}

void task_graph::drop(shared_object& o) {
  if (o.here != shared_object::never) --num_kept_;
  o.here = shared_object::never;
  o.set->give_up(o.index);
}

// ------------------------------------------------------------------------------------------------ on their way

void task_graph::send(shared_object& o, rank_id to, std::uint32_t version) {
  hetero_data& d = o.set->here(o.index);
  try {
    detail::object_parcel data = detail::object_parcel::of(d);
    if (const detail::loan_share* const s = data.share(); s != nullptr)
      desk().lends_to_graph(s->loan(), {o.set->number, o.index, to});
    link_.send_object(to, number_of(o), version, sets_[o.set->number], std::move(data));
    ++num_sent_;
  } catch (const usage_error& e) {
    throw usage_error(fmt::format("object {} of the graph's {}. distributed, for rank {}: {}", o.index,
                                  o.set->number + 1, to, e.what()));
  }
}

void task_graph::expect(shared_object& o, rank_id from, std::uint32_t version) {
  const std::uint64_t arrival = desk().expect(o.set->here(o.index), {});
  const key k{number_of(o), version};
  if (const auto at = early_.find(k); at != early_.end()) {
    detail::object_parcel data = std::move(at->second.data);
    early_.erase(at);
    ++num_received_;
    return desk().grant(arrival, std::move(data));
  }
  if (const auto gone = lost_.find(from); gone != lost_.end()) return desk().refuse(arrival, gone->second);
  expected_.emplace(k, expectation{arrival, from});
  desk().depends_on_graph(arrival, {o.set->number, o.index, from});
}

void task_graph::take(rank_id from, std::uint64_t object, std::uint32_t version, std::uint64_t set,
                      detail::object_parcel data) {
  const std::uint64_t number = object >> 32;
  if (number < sets_.size() && sets_[number] != set) return part_from(from);
  const auto at = expected_.find({object, version});
  if (at != expected_.end()) {
    const std::uint64_t arrival = at->second.arrival;
    expected_.erase(at);
    ++num_received_;
    desk().grant(arrival, std::move(data));
  } else if (!ended_ && !lost_.contains(from)) {  // else nobody will ask for them
    early_.emplace(key{object, version}, parcel_from{std::move(data), from, set});
  }
}

std::uint32_t task_graph::add_set(std::uint64_t made_of) {
  const auto number = static_cast<std::uint32_t>(sets_.size());
  sets_.push_back(made_of);
  digest_.add(made_of);
  std::vector<rank_id> others;
  for (const auto& [k, parcel] : early_) {
    if (k.object >> 32 == number && parcel.set != made_of) others.push_back(parcel.from);
  }
  for (const rank_id r : others) part_from(r);
  return number;
}

// ------------------------------------------------------------------------------------------------ failures

void task_graph::end_submission() {
  ended_ = true;
  early_.clear();
}

void task_graph::abandon(const std::exception_ptr& why) {
  end_submission();
  detail::object_failure said = detail::object_failure::of(why);
  said.what = fmt::format("rank {} has given the graph up: {}", rank_, said.what);
  for (rank_id r = 0; r < num_ranks_; ++r) {
    if (r != rank_) link_.send_failure(r, said);
  }
}

void task_graph::part_from(rank_id rank) {
  if (lost_.contains(rank)) return;
  const auto why = detail::object_failure::of(std::make_exception_ptr(usage_error(
      fmt::format("ranks {} and {} have made different objects: extents, sizes and owners may depend on arguments and "
                  "the number of ranks, not on a rank",
                  std::min(rank, rank_), std::max(rank, rank_)))));
  link_.send_failure(rank, why);
  lost(rank, why);
}

void task_graph::lost(rank_id rank, const detail::object_failure& why) {
  lost_.emplace(rank, why);
  std::erase_if(early_, [&](const auto& e) { return e.second.from == rank; });
  std::vector<std::uint64_t> refused;
  std::erase_if(expected_, [&](const auto& e) {
    if (e.second.from == rank) refused.push_back(e.second.arrival);
    return e.second.from == rank;
  });
  for (const std::uint64_t arrival : refused) desk().refuse(arrival, why);
}

}  // namespace imbrex
