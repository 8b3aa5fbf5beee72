#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "imbrex/object/entry/when.h"

namespace imbrex {

/// An entry slot without a reference number: a member of a chare to which others send like to an entry method, and
/// whose messages a coroutine of the chare awaits in the order in which they come. With numbers: `when`.
///
///     ix::slot<double, int> results;                           // member
///     proxy.send<&block::results>(0.5, 3);                     // from anywhere
///     auto [value, from] = co_await results();                 // in a coroutine of this chare
template <class... Args>
class slot {
 public:
  using wait = typename when<int, Args...>::wait;

  /// The next message; may be given to `when_all` and `when_any`. Several coroutines may wait; each message goes to
  /// one.
  [[nodiscard("co_await it")]] wait operator()() { return queue_.any(); }
  /// Number of messages that have come and nobody has awaited yet.
  std::size_t num_queued() const { return queue_.num_queued(); }

  /// For the runtime.
  slot_queue& queue() { return queue_; }
  /// For the runtime: a message has come.
  void arrive(const char* name, std::remove_cvref_t<Args>... args) { queue_.arrive(name, 0, std::move(args)...); }

  /// Queued messages move with the element.
  template <class Archive>
  void serialize(Archive& ar) {
    ar & queue_;
  }

 private:
  when<int, Args...> queue_;
};

}  // namespace imbrex
