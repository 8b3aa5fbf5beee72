#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/balance/live/balance_summary.h"
#include "imbrex/checkpoint/live/checkpoint_leader.h"
#include "imbrex/checkpoint/live/checkpointer.h"
#include "imbrex/checkpoint/live/program_point.h"
#include "imbrex/checkpoint/live/program_state.h"
#include "imbrex/object/chare.h"
#include "imbrex/object/seeds/seed.h"
#include "imbrex/pe/quiescence_wait.h"
#include "imbrex/runtime/options/options.h"

namespace imbrex {

/// What a program sees of the job it runs in. The main chare gets it as an argument, every chare by `rt()`. Usable on
/// any PE; creating is asynchronous: the proxy can be used at once, messages wait for what they are sent to.
class runtime {
 public:
  runtime(rank_context& rank, const runtime_options& options) : rank_(rank), options_(options) {}
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  int num_pes() const { return rank_.num_pes(); }
  int num_ranks() const { return rank_.num_ranks; }
  int pes_per_rank() const { return rank_.pes_per_rank; }
  /// How many of the job's ranks share this host.
  int num_local_ranks() const { return rank_.transport != nullptr ? rank_.transport->num_local_ranks() : 1; }
  rank_id rank() const { return rank_.rank; }
  /// Where chares keep their data and run their kernels: what `--imbrex-device` says.
  device_kind kind_of_device() const { return scheduler::of_caller().default_device->kind(); }
  /// With `--imbrex-device auto` and the host device: why no GPU is used; else empty.
  const std::string& why_no_gpu() const { return options_.why_no_gpu; }
  /// GPUs, or devices of OpenCL, of this rank; 0 with the host device.
  int num_gpus() const { return static_cast<int>(scheduler::of_caller().gpus.size()); }
  /// This PE's handle of one of them, 0 <= i < num_gpus().
  device& gpu(int i) const { return *scheduler::of_caller().gpus.at(static_cast<std::size_t>(i)); }
  /// Which of them PE `pe` of this rank uses.
  int gpu_of(pe_id pe) const { return rank_.gpu_of_pe.at(static_cast<std::size_t>(pe - rank_.first_pe())); }
  /// The PE this is called on.
  pe_id pe() const { return scheduler::of_caller().id(); }
  const runtime_options& options() const { return options_; }
  /// What balancing has done so far; on PE 0, where the main chare is. Empty without `--imbrex-balance`.
  balance_summary balancing() const { return balance_summary_of(scheduler::of_caller()); }
  /// "none" with one rank, else "loopback", "mpi".
  std::string transport_name() const { return rank_.transport != nullptr ? rank_.transport->name() : "none"; }

  /// A singleton chare, constructed with `args`, on a PE of the runtime's choice. The first few of a class that a PE
  /// makes (4 for each PE there is) go to all PEs in turn. Later ones are seeds: they are made on this PE, newest
  /// first, when it comes to them, or on a PE that has nothing to do and takes them. Costs no message unless it goes
  /// elsewhere; nothing is kept of it once it has ended (`destroy`, `erase`).
  template <class C, class... A>
  element_proxy<C> create(A&&... args) {
    check_singleton<C, A...>();
    chare_pe& here = chare_pe::of(scheduler::of_caller());
    const collection_id all = detail::singles_of<C>();
    auto& part = *find_part<no_index>(here, all);
    if (part.places_next()) return create_on<C>(here.next_place_in_turn(), std::forward<A>(args)...);
    auto* const s = seed<C, detail::kept_argument<A>...>::make(all, std::forward<A>(args)...);
    const no_index which = s->index = part.name_own().index;
    seed_pool::of(here).plant(*s);
    return element_proxy<C>(all, which);
  }
  /// The same on the given PE.
  template <class C, class... A>
  element_proxy<C> create_on(pe_id where, A&&... args) {
    check_singleton<C, A...>();
    if (where < 0 || where >= num_pes()) {
      throw usage_error(fmt::format("{} cannot be created on PE {}: the PEs are 0 to {}", detail::type_name<C>(), where,
                                    num_pes() - 1));
    }
    scheduler& here = scheduler::of_caller();
    const collection_id all = detail::singles_of<C>();
    single_body<C, detail::kept_argument<A>...> body{{}, {std::forward<A>(args)...}};
    const no_index which = body.index = find_part<no_index>(here, all)->next(where);
    here.send(where, std::move(body), priorities::communication);
    return element_proxy<C>(all, which);
  }

  /// A chare array of the given extent (`index1d`, `index2d`, `index3d`), one block of consecutive elements per PE; or
  /// of a shape made by `placed(extent, map)` or `empty_array<Index>()`. Every element is constructed with copies of
  /// `args`.
  template <class C, class... A>
  array_proxy<C> create_array(const typename C::index_type& extent, A&&... args) {
    static_assert(!std::is_same_v<typename C::index_type, no_index>,
                  "imbrex: a chare without an index type is a singleton: use create");
    check_constructor<C, A...>();
    return create_array<C>(array_shape<typename C::index_type>{extent, {}, true}, std::forward<A>(args)...);
  }
  /// For classes that hide that they are chares.
  template <class C, class... A>
    requires(std::is_base_of_v<chare_base, C> && !std::is_convertible_v<C*, chare_base*>)
  void create_array(A&&...) {
    static_assert(
        std::is_convertible_v<C*, chare_base*>,
        "imbrex: a chare derives from ix::chare publicly: class block : public ix::chare<block, ix::index1d>");
  }
  template <class C, class Map, class... A>
  array_proxy<C> create_array(const array_shape<typename C::index_type, Map>& shape, A&&... args) {
    if constexpr (is_grid_index<typename C::index_type>) {
      if (!shape.filled && detail::map_needs_extent<Map>() && volume(shape.extent) == 0) {
        throw usage_error(fmt::format(
            "an empty array of {} has no extent for its map to place elements by: give empty_array the extent "
            "too, empty_array(extent, map), or no map",
            detail::type_name<C>()));
      }
      if (shape.filled && volume(shape.extent) == 0) {
        throw usage_error(fmt::format("an array of {} with extent {} has no elements", detail::class_name<C>(args...),
                                      to_text(shape.extent)));
      }
    } else if (shape.filled) {
      throw usage_error(fmt::format("an array of {} has no extent to fill: create it with empty_array and insert",
                                    detail::type_name<C>()));
    }
    if constexpr (sizeof...(A) > 0) {
      check_constructor<C, A...>();
    } else if (shape.filled && !std::is_default_constructible_v<C>) {
      throw usage_error(
          fmt::format("an array of {} cannot be filled: the chare has no default constructor", detail::type_name<C>()));
    }
    return array_proxy<C>(create_collection<C>(shape, std::forward<A>(args)...));
  }
  /// A group: one element on every PE, indexed by PE, which stays there.
  template <class C, class... A>
  array_proxy<C> create_group(A&&... args) {
    static_assert(std::is_same_v<typename C::index_type, index1d>, "imbrex: a chare of a group has index1d");
    return create_array<C>(array_shape<index1d>{index1d(num_pes()), {}, true, {}, true}, std::forward<A>(args)...);
  }

  /// A node group: one element on the first PE of every rank, indexed by rank, which stays there.
  template <class C, class... A>
  array_proxy<C> create_node_group(A&&... args) {
    static_assert(std::is_same_v<typename C::index_type, index1d>, "imbrex: a chare of a node group has index1d");
    return create_array<C>(array_shape<index1d, map::rank>{index1d(num_ranks()), {pes_per_rank()}, true, {}, true},
                           std::forward<A>(args)...);
  }

  /// `co_await rt.quiescence()`: until no message is on its way or queued and no operation is pending on any PE, and
  /// nothing runs but coroutines that wait (this one among them). While a checkpoint is taken of chares that wait at a
  /// point it is not quiet, since they go on.
  [[nodiscard]] auto quiescence() const { return quiescence_wait{}; }

  /// `co_await rt.checkpoint(folder)`, from the main chare, at a moment when nothing is under way but what ends by
  /// itself: makes a checkpoint in that folder of checkpoints, or in that of `--imbrex-checkpoint`, and gives its path
  /// once it is whole, on the disk. The program is one that `run<Program>` started; all its chares have a default
  /// constructor and `serialize`. Throws `checkpoint_error` where none can be made now, naming what is under way;
  /// `snapshot_error` when it cannot be written; `usage_error` where the program cannot be restarted.
  [[nodiscard("co_await it")]] task<std::string> checkpoint(std::string folder = "") const;
  /// `co_await rt.checkpoint_point()`, from the main chare, at such a moment: makes one when one is due (with
  /// `--imbrex-checkpoint`), and goes on as soon as it has been taken, while it is written. Gives whether one was.
  [[nodiscard("co_await it")]] detail::program_point checkpoint_point() const { return {}; }

  /// From any chare: at the next checkpoint point the job goes on with `pes_per_rank` PEs of each rank, in the same
  /// processes. Its state is kept in memory, all chares and coroutines end, and the program's `restart` begins again
  /// with them, as after a restart from a file. With `--imbrex-checkpoint` or `--imbrex-checkpoint-memory`, else there
  /// are no points: `usage_error`; so for a number that cannot be, and over ucx.
  void resize(int pes_per_rank) const;

  /// Ends the job now, on all ranks, with this exit code; what is queued is dropped. A main chare that returns lets
  /// everything that is on its way finish first. A failure that is reported all the same decides the exit code.
  void exit(int code) { scheduler::of_caller().exit_job(code, false); }

 private:
  template <class C, class... A>
  static constexpr void check_constructor() {
    static_assert(std::is_base_of_v<typename C::class_named_as_derived, C>,
                  "imbrex: this class derives from ix::chare of another class: name the class itself there, "
                  "class block : public ix::chare<block, ix::index3d>");
    static_assert(std::is_constructible_v<C, const detail::kept_argument<A>&...>,
                  "imbrex: this chare has no constructor for (const references to) these arguments");
  }
  template <class C, class... A>
  static constexpr void check_singleton() {
    static_assert(std::is_same_v<typename C::index_type, no_index>,
                  "imbrex: create makes singletons; for a chare with an index use create_array");
    check_constructor<C, A...>();
  }
  template <class C, class Map, class... A>
  collection_id create_collection(const array_shape<typename C::index_type, Map>& shape, A&&... args) {
    scheduler& pe = scheduler::of_caller();
    create_body<C, Map, detail::kept_argument<A>...> body;
    body.id = chare_pe::of(pe).new_collection_id();
    body.shape = shape;
    if constexpr (requires { C::chare_name(args...); }) {
      if (shape.name.empty()) body.shape.name = C::chare_name(args...);
    }
    body.args = std::make_shared<const std::tuple<detail::kept_argument<A>...>>(std::forward<A>(args)...);
    const collection_id id = body.id;
    body.root = pe.id();
    body.announce(pe);
    pe.send(pe.id(), std::move(body), priorities::system);
    return id;
  }

  rank_context& rank_;
  const runtime_options& options_;
};

namespace detail {

/// What runs as the main chare: on PE 0 of rank 0 it makes that one's coroutine.
struct main_program {
  std::function<task<int>(runtime&, std::vector<std::string> arguments)> start;
  /// Of a job that begins with a checkpoint; `saved`: what the program was. Empty: it cannot be restarted.
  std::function<task<int>(runtime&, std::vector<std::string> arguments, std::vector<std::byte> saved)> restart;
  /// On every process, by the thread that called `run`, when a run of the job has been taken down and another one is to
  /// begin in the same processes. May be empty.
  std::function<void()> between_runs = nullptr;
};

/// Runs the job.
int run_job(int& argc, char** argv, const main_program& main);

template <class P>
concept restartable_program = std::is_class_v<P> && requires { &P::start, &P::restart; };

template <class P>
task<int> start_program(P& p, runtime& rt, std::vector<std::string> arguments) {
  if constexpr (requires { p.start(rt, arguments); }) {
    return p.start(rt, std::move(arguments));
  } else {
    static_assert(
        requires {
          { p.start(rt) } -> std::same_as<task<int>>;
        }, "imbrex: a program has `task<int> start(runtime&)`, or with `std::vector<std::string>`");
    return p.start(rt);
  }
}
template <class P>
task<int> restart_program(P& p, runtime& rt, std::vector<std::string> arguments) {
  if constexpr (requires { p.restart(rt, arguments); }) {
    return p.restart(rt, std::move(arguments));
  } else {
    static_assert(
        requires {
          { p.restart(rt) } -> std::same_as<task<int>>;
        }, "imbrex: a program has `task<int> restart(runtime&)`, or with `std::vector<std::string>`");
    return p.restart(rt);
  }
}

}  // namespace detail

/// Runs a job: every process of it calls this from `main`. Reads `--imbrex-...` and `IMBREX_...`, starts the PEs, and
/// on PE 0 of rank 0 the main chare `start`, a coroutine that is called as one of
///
///     task<int> start(runtime&);
///     task<int> start(runtime&, std::vector<std::string> arguments);   // the command line without --imbrex options
///     task<int> start(runtime&, extra...);                             // copies of what is passed to run
///
/// When it returns, what is still on its way is finished and the job ends. Returns the exit code for `main`, the same
/// on every rank: what `start` returned; 70 when an entry method threw or the program deadlocked; 2 for wrong options;
/// 255 for what does not fit into eight bits.
/// Blocks the calling thread, which serves as the rank's first PE. One job at a time per process.
/// What imbrex took is gone from `argc` and `argv` afterwards, as it is from `arguments`.
template <class Start, class... Extra>
  requires(!detail::restartable_program<Start>)
int run(int& argc, char** argv, Start start, Extra... extra) {
  auto main = [=](runtime& rt, std::vector<std::string> arguments) -> task<int> {
    if constexpr (sizeof...(Extra) > 0) {
      return start(rt, extra...);
    } else if constexpr (std::is_invocable_v<Start, runtime&, std::vector<std::string>>) {
      return start(rt, std::move(arguments));
    } else {
      static_assert(std::is_invocable_r_v<task<int>, Start, runtime&>,
                    "imbrex: the main chare is `task<int> start(runtime&)`, or with `std::vector<std::string>` or the "
                    "extra arguments given to run");
      return start(rt);
    }
  };
  return detail::run_job(argc, argv, {std::move(main), nullptr});
}
/// Runs a job that can make checkpoints and be restarted (docs/checkpoints.md): the main chare is an object of class
/// `Program`, constructed with copies of `extra`, which has
///
///     task<int> start(runtime&);      // or with std::vector<std::string>, as above
///     task<int> restart(runtime&);    // instead, with --imbrex-restart: chares are there, no coroutine runs
///     template <class Archive> void serialize(Archive&);   // what `restart` needs of it
template <class Program, class... Extra>
  requires detail::restartable_program<Program>
int run(int& argc, char** argv, Extra... extra) {
  auto make = [=] {
    auto p = std::make_shared<Program>(extra...);
    checkpointer::of(scheduler::of_caller()).leader().saves_program_by([p] { return detail::save_program(*p); });
    return p;
  };
  auto start = [=](runtime& rt, std::vector<std::string> arguments) {
    return detail::start_program(*make(), rt, std::move(arguments));
  };
  auto restart = [=](runtime& rt, std::vector<std::string> arguments, std::vector<std::byte> saved) {
    const std::shared_ptr<Program> p = make();
    detail::restore_program(saved, *p);
    return detail::restart_program(*p, rt, std::move(arguments));
  };
  return detail::run_job(argc, argv, {std::move(start), std::move(restart)});
}
/// The same with a number that cannot be changed: `argv` ends with a null pointer after what is left.
template <class Start, class... Extra>
int run(const int& argc, char** argv, Start start, Extra... extra) {
  int left = argc;
  return run(left, argv, std::move(start), std::move(extra)...);
}

}  // namespace imbrex
