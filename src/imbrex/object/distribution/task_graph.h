#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "imbrex/base/ids.h"
#include "imbrex/hetero/submission/submit.h"
#include "imbrex/object/data/object_desk.h"
#include "imbrex/object/distribution/object_set.h"

/// One graph of tasks over all ranks: every rank submits the same tasks in the same order, and each runs those whose
/// written data it owns. Which data have to travel follows from that on both sides, so nobody asks.
namespace imbrex {

template <class T, class Index>
class distributed;
template <class T>
class distributed_ref;
template <class T, access_mode Mode>
struct ref_with_access;

/// How a task of a `task_graph` shall run.
struct graph_task_options {
  task_name name = {};
  int priority = 0;
  device_kind on = task_options::any_device;
  int number = -1;
  const task_bundle* bundle = nullptr;  ///< of those that run on the same rank
  rank_id rank = -1;  ///< where it runs; -1: where the first object lives that it writes, else the first that it reads,
                      ///< else the first that it reduces into
};

namespace detail {

/// Brings a graph's messages to the same graph on other ranks.
struct graph_link {
  graph_link() = default;
  graph_link(const graph_link&) = delete;
  graph_link& operator=(const graph_link&) = delete;
  virtual ~graph_link() = default;
  /// `set`: what the object's set is, here.
  virtual void send_object(rank_id to, std::uint64_t object, std::uint32_t version, std::uint64_t set,
                           object_parcel data) = 0;
  virtual void send_failure(rank_id to, const object_failure& why) = 0;
};

/// The tasks of a graph as one number, by where they run and what they do with which objects.
struct graph_digest {
  std::uint64_t num_tasks = 0;
  std::uint64_t mixed = 0;

  void add(std::uint64_t word) { mixed = (mixed ^ word) * 0x9E37'79B9'7F4A'7C15U; }
  friend bool operator==(const graph_digest&, const graph_digest&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & num_tasks & mixed;
  }
};

/// Throws `usage_error` unless they are equal.
void check_same_graph(const graph_digest& of_rank_0, const graph_digest& of_rank, rank_id rank);

/// What a task does with one object of the graph.
struct graph_use {
  shared_object* what = nullptr;
  access_mode mode = access_mode::read;
};

}  // namespace detail

/// The tasks that `run_graph` has every rank submit (StarPU-MPI's and PaRSEC's sequential task flow): a coroutine
/// `task<> f(imbrex::task_graph& g, ...)` runs on the first PE of every rank, makes the same `distributed` objects in
/// the same order and submits the same tasks in the same order, whatever the rank. Each task runs on one rank, where
/// its tasks are placed on PEs and devices as `submit` does it. An object is read where it is needed: its data travel
/// once to each rank that reads them, along a tree in which each rank passes them on to four, are kept there until a
/// task that writes it has been submitted, and go by way of `data_mover`, from device to device where these reach each
/// other. One that is written elsewhere goes home.
///
/// A rank that has nothing to do with a task passes over it in some twenty nanoseconds. For the PE that runs `f`.
///
/// Errors: a task that fails makes those fail that read what it should have written, on whatever rank; `done` throws.
/// When `f` throws on a rank, what the others expect from it fails, too.
class task_graph {
 public:
  task_graph(rank_id rank, int num_ranks, detail::graph_link& link);
  ~task_graph();
  task_graph(const task_graph&) = delete;
  task_graph& operator=(const task_graph&) = delete;

  rank_id rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }

  /// Submits what `imbrex::submit` takes: a function of the host, one that enqueues on a `stream&`, or a kernel with
  /// its shape; with objects of this graph (`a(i, j)`, `write(a(i, j))`) in the place of `hetero_object`s. All ranks
  /// call it; the function is called on one of them, and the values of the other arguments are that rank's. Gives the
  /// task on that rank, an empty handle on the others.
  /// Throws `usage_error` for objects of another graph, a rank that there is not, and what `submit` refuses.
  template <class F, class... A>
    requires(!std::is_base_of_v<kernel_source, F>)
  hetero_task submit(const graph_task_options& o, F f, const A&... arguments) {
    return submit_as<typename detail::task_function<F>::parameters>(
        o,
        [&](const task_options& here, const auto&... mine) {
          return imbrex::submit(domain_, here, std::move(f), mine...);
        },
        arguments...);
  }
  template <class... P, class... A>
  hetero_task submit(const graph_task_options& o, const kernel<void(P...)>& k, const launch_shape& shape,
                     const A&... arguments) {
    return submit_as<std::tuple<P...>>(
        o,
        [&](const task_options& here, const auto&... mine) { return imbrex::submit(domain_, here, k, shape, mine...); },
        arguments...);
  }

  /// From now on rank `to` owns the object, and tasks that write it run there; its data go along, if it has any, behind
  /// the tasks submitted by now. By all ranks, as tasks are submitted. Throws `usage_error` for an object of another
  /// graph, and a rank that there is not.
  template <class T>
  void migrate(const distributed_ref<T>& x, rank_id to) {
    migrate(x.shared(), to);
  }

  /// The copies that this rank has at devices and no task uses go, after the newest data have come to its host, as
  /// `hetero_object::evict`. Concerns no other rank. Throws `usage_error` for an object of another graph.
  template <class T>
  void evict(const distributed_ref<T>& x) {
    evict(x.shared());
  }

  /// `co_await g.done()`: until all that this PE has submitted by now is over, in this graph or not, and what it sends
  /// and is sent for it. Throws the first failure of a task of the PE that nobody has been told of. `run_graph` does it
  /// at the end.
  domain_wait done() {
    close_reductions();
    return domain_.all_over();
  }
  /// `co_await g.fewer_tasks_than(n)`: so that submission does not run ahead by more than `n` tasks of this PE. Throws
  /// `usage_error` for 0.
  domain_wait fewer_tasks_than(std::uint64_t n) { return domain_.fewer_than(n); }

  /// What has been submitted, on this rank or another: equal on all ranks if they submit the same.
  const detail::graph_digest& digest() const { return digest_; }
  /// Copies of other ranks' objects that this rank keeps, how many came that its tasks asked for, and how many it has
  /// sent or passed on; for reports and tests.
  std::size_t num_kept() const { return num_kept_; }
  std::uint64_t num_received() const { return num_received_; }
  std::uint64_t num_sent() const { return num_sent_; }

  /// \name For those who belong to it
  ///@{
  hetero_domain& domain() const { return domain_; }
  /// The number of a new set of objects, of these sizes and owners as one number.
  std::uint32_t add_set(std::uint64_t made_of);
  /// \name Reductions into objects: by all ranks, in the same order
  ///@{
  void open_reduction(detail::shared_object& into, std::unique_ptr<detail::graph_reduction> r);
  /// If there is one.
  void close_reduction(detail::shared_object& into, int priority);
  void drop_reduction(detail::shared_object& into);
  ///@}
  /// What every task's submission is: `senders` has room for one of each use, `open(where)` opens the reductions, and
  /// `start(options)` submits the task to the domain of the rank that it runs on.
  template <class Open, class Start>
  hetero_task submit_uses(const graph_task_options& o, std::span<const detail::graph_use> uses,
                          std::span<rank_id> senders, std::span<detail::shared_object* const> reduced, Open open,
                          Start start);
  /// A set is gone that kept so many copies.
  void remove_kept(std::size_t n) { num_kept_ -= n; }
  /// What another rank's graph sent.
  void take(rank_id from, std::uint64_t object, std::uint32_t version, std::uint64_t set, detail::object_parcel data);
  void lost(rank_id rank, const detail::object_failure& why);
  /// This rank has submitted all: what others have sent that none of its tasks needs goes home, now and later, so that
  /// ranks with other graphs come to their end, where `check_same_graph` tells of it.
  void end_submission();
  /// Tells the others that nothing more comes from here.
  void abandon(const std::exception_ptr& why);
  ///@}

 private:
  template <class Parameters, class Start, class... A>
  hetero_task submit_as(const graph_task_options& o, Start start, const A&... arguments);
  static std::uint64_t number_of(const detail::shared_object& o) {
    return std::uint64_t{o.set->number} << 32 | o.index;
  }
  static void check_reduced(const graph_task_options& o, std::span<const detail::graph_use> uses,
                            std::span<detail::shared_object* const> reduced);
  rank_id place(const graph_task_options& o, std::span<const detail::graph_use> uses,
                std::span<detail::shared_object* const> reduced) const;
  static constexpr rank_id nobody = -1;
  /// Who sends a task's rank what it reads; nobody: it has it.
  rank_id note_reader(rank_id where, const detail::graph_use& use);
  bool concerns_me(rank_id where, std::span<const detail::graph_use> uses, std::span<const rank_id> senders) const;
  void bring(rank_id where, const detail::graph_use& use, rank_id sender);
  void send_home(rank_id where, const detail::graph_use& use);
  void note_write(rank_id where, const detail::graph_use& use);
  void migrate(detail::shared_object& o, rank_id to);
  void evict(detail::shared_object& o);
  void expect(detail::shared_object& o, rank_id from, std::uint32_t version);
  void send(detail::shared_object& o, rank_id to, std::uint32_t version);
  void drop(detail::shared_object& o);
  /// That rank's objects are others: its data are none for those of this one, which may be smaller.
  void part_from(rank_id rank);
  void close_reductions();

  /// Data that were announced and have not been asked for, or the other way round.
  struct key {
    std::uint64_t object;
    std::uint32_t version;
    friend bool operator==(const key&, const key&) = default;
  };
  struct key_hash {
    std::size_t operator()(const key& k) const;
  };
  struct expectation {
    std::uint64_t arrival;
    rank_id from;
  };
  struct parcel_from {
    detail::object_parcel data;
    rank_id from;
    std::uint64_t set;
  };

  const rank_id rank_;
  const int num_ranks_;
  hetero_domain& domain_;
  detail::graph_link& link_;
  detail::graph_digest digest_;
  std::vector<std::uint64_t> sets_;                   // what each is made of
  std::vector<detail::shared_object*> reduced_into_;  // and not used otherwise since
  bool ended_ = false;                                // nothing more is submitted
  std::size_t num_kept_ = 0;
  std::uint64_t num_received_ = 0;
  std::uint64_t num_sent_ = 0;
  std::unordered_map<key, expectation, key_hash> expected_;
  std::unordered_map<key, parcel_from, key_hash> early_;
  std::unordered_map<rank_id, detail::object_failure> lost_;
};

namespace detail {

/// An argument of a graph's task: an object of the graph, or a value.
template <class A>
struct graph_argument {
  static constexpr bool is_object = false;
  static constexpr bool is_reduction = false;
  using local = A;
  static const A& here(const A& a) { return a; }
};
template <class T>
struct graph_argument<distributed_ref<T>> {
  static constexpr bool is_object = true;
  static constexpr bool is_reduction = false;
  using local = hetero_object<T>;
  static shared_object& object(const distributed_ref<T>& r) { return r.shared(); }
  static const local& here(const distributed_ref<T>& r) { return r.here(); }
};
template <class T, access_mode Mode>
struct graph_argument<ref_with_access<T, Mode>> {
  static constexpr bool is_object = true;
  static constexpr bool is_reduction = false;
  using local = with_access<T, Mode>;
  static shared_object& object(const ref_with_access<T, Mode>& r) { return r.object.shared(); }
  static local here(const ref_with_access<T, Mode>& r) { return {r.object.here()}; }
};

template <class P, class A>
void note_use(const A& a, graph_use*& to) {
  if constexpr (graph_argument<A>::is_reduction) {
    static_assert(check_argument<P, typename graph_argument<A>::local>());
  } else if constexpr (graph_argument<A>::is_object) {
    static_assert(check_argument<P, typename graph_argument<A>::local>());
    *to++ = {&graph_argument<A>::object(a), access_of<P, typename graph_argument<A>::local>()};
  }
}
template <class Parameters>
struct graph_uses;
template <class... P>
struct graph_uses<std::tuple<P...>> {
  template <class... A>
  static auto of(const A&... arguments) {
    static_assert(sizeof...(P) == sizeof...(A), "submit: the function has another number of parameters");
    static_assert(!(task_argument<A>::is_object || ...),
                  "submit: a task of a graph takes objects of the graph: `distributed<T>`, not `hetero_object`");
    std::array<graph_use, (std::size_t{graph_argument<A>::is_object} + ... + 0)> uses{};
    [[maybe_unused]] graph_use* next = uses.data();
    (note_use<P>(arguments, next), ...);
    return uses;
  }
};

/// The objects that `arguments` are reduced into.
template <class... A>
auto objects_to_reduce(const A&... arguments) {
  std::array<shared_object*, (std::size_t{graph_argument<A>::is_reduction} + ... + 0)> all{};
  [[maybe_unused]] std::size_t n = 0;
  const auto add = [&](const auto& a) {
    using argument = graph_argument<std::remove_cvref_t<decltype(a)>>;
    if constexpr (argument::is_reduction) all[n++] = &argument::object(a);
  };
  (add(arguments), ...);
  return all;
}
template <class A>
void open_reduction_of(task_graph& g, const A& a, rank_id where) {
  if constexpr (graph_argument<A>::is_reduction) graph_argument<A>::open(g, a, where);
}

}  // namespace detail

inline bool task_graph::concerns_me(rank_id where, std::span<const detail::graph_use> uses,
                                    std::span<const rank_id> senders) const {
  if (where == rank_) return true;
  for (const rank_id r : senders) {
    if (r == rank_) return true;
  }
  for (const detail::graph_use& u : uses) {
    if (u.what->owner == rank_) return true;
  }
  return false;
}

template <class Parameters, class Start, class... A>
hetero_task task_graph::submit_as(const graph_task_options& o, Start start, const A&... arguments) {
  const auto uses = detail::graph_uses<Parameters>::of(arguments...);
  const auto reduced = detail::objects_to_reduce(arguments...);
  std::array<rank_id, std::tuple_size_v<std::remove_const_t<decltype(uses)>>> senders;
  return submit_uses(
      o, uses, senders, reduced, [&](rank_id where) { (detail::open_reduction_of(*this, arguments, where), ...); },
      [&](const task_options& here) { return start(here, detail::graph_argument<A>::here(arguments)...); });
}

template <class Open, class Start>
hetero_task task_graph::submit_uses(const graph_task_options& o, std::span<const detail::graph_use> uses,
                                    std::span<rank_id> senders, std::span<detail::shared_object* const> reduced,
                                    Open open, Start start) {
  if (!reduced.empty()) check_reduced(o, uses, reduced);
  for (const detail::graph_use& u : uses) {
    if (u.what->reducing != nullptr) close_reduction(*u.what, o.priority);
  }
  const rank_id where = place(o, uses, reduced);
  open(where);
  for (std::size_t i = 0; i < uses.size(); ++i) senders[i] = note_reader(where, uses[i]);
  hetero_task mine;
  if (concerns_me(where, uses, senders)) {
    for (std::size_t i = 0; i < uses.size(); ++i) bring(where, uses[i], senders[i]);
    if (where == rank_) {
      mine = start(
          task_options{.name = o.name, .priority = o.priority, .on = o.on, .number = o.number, .bundle = o.bundle});
    }
    for (const detail::graph_use& u : uses) send_home(where, u);
  }
  ++digest_.num_tasks;
  digest_.add(static_cast<std::uint64_t>(where));
  for (const detail::shared_object* r : reduced) digest_.add(~number_of(*r));
  for (const detail::graph_use& u : uses) {
    digest_.add(number_of(*u.what) << 2 | static_cast<std::uint64_t>(u.mode.which));
    note_write(where, u);
  }
  return mine;
}

}  // namespace imbrex
