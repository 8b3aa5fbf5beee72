#pragma once

#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "imbrex/async/task.h"
#include "imbrex/object/chare.h"
#include "imbrex/object/distribution/distributed.h"
#include "imbrex/object/distribution/task_graph.h"

namespace imbrex::detail {

template <auto F>
struct graph_result;
template <class R, class... A, task<R> (*F)(task_graph&, A...)>
struct graph_result<F> {
  using type = R;
};

/// What comes of a graph on one rank.
template <class R>
struct graph_outcome {
  std::conditional_t<std::is_void_v<R>, char, R> result{};
  graph_digest digest;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & result & digest;
  }
};

/// A graph on one rank. Reports call it by F's name in C++, or where F runs coroutines of another language by what
/// `const char* graph_name(arguments...)` says, which is found by their types (entry/shown_name.h).
template <auto F>
class graph_chare;
template <class R, class... A, task<R> (*F)(task_graph&, A...)>
class graph_chare<F> final : public chare<graph_chare<F>, index1d>, graph_link {
  static constexpr bool is_named = requires(const A&... a) { graph_name(a...); };

 public:
  static const char* chare_name()
    requires is_named
  {
    return "graph";
  }
  static const char* entry_name(const char*, const A&... a)
    requires is_named
  {
    return graph_name(a...);
  }
  static const char* entry_name(const char*, rank_id, std::uint64_t, std::uint32_t, std::uint64_t, const object_parcel&)
    requires is_named
  {
    return "data for a graph";
  }
  static const char* entry_name(const char*, rank_id, const object_failure&)
    requires is_named
  {
    return "failure in a graph";
  }

  graph_chare() : graph_(this->index().x, static_cast<int>(volume(this->extent())), *this) { this->pin(); }

  task<graph_outcome<R>> run(A... arguments) {
    std::exception_ptr failure;
    try {
      graph_outcome<R> outcome;
      task<R> submitting = F(graph_, std::move(arguments)...);
      if constexpr (std::is_void_v<R>) {
        co_await std::move(submitting);
      } else {
        outcome.result = co_await std::move(submitting);
      }
      domain_wait all_over = graph_.done();
      graph_.end_submission();
      co_await all_over;
      outcome.digest = graph_.digest();
      co_return outcome;
    } catch (...) {
      failure = std::current_exception();
    }
    graph_.abandon(failure);
    for (bool failed = true; failed;) {
      failed = false;
      try {
        co_await graph_.done();
      } catch (...) {
        failed = true;  // of what this rank has submitted; the first failure is what it ends by
      }
    }
    std::rethrow_exception(failure);
  }
  void take(rank_id from, std::uint64_t object, std::uint32_t version, std::uint64_t set, object_parcel data) {
    graph_.take(from, object, version, set, std::move(data));
  }
  void lost(rank_id rank, object_failure why) { graph_.lost(rank, why); }

 private:
  void send_object(rank_id to, std::uint64_t object, std::uint32_t version, std::uint64_t set,
                   object_parcel data) override {
    this->array()[to].template send<&graph_chare::take>(graph_.rank(), object, version, set, std::move(data));
  }
  void send_failure(rank_id to, const object_failure& why) override {
    this->array()[to].template send<&graph_chare::lost>(graph_.rank(), why);
  }

  task_graph graph_;
};

}  // namespace imbrex::detail
