#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "imbrex/async/activity.h"

namespace imbrex {

class scheduler;

namespace detail {

struct future_state_base {
  waiter* waiting = nullptr;
};
template <class... A>
struct future_state : future_state_base {
  std::optional<std::tuple<A...>> value;
};

/// The futures of one PE, by number.
class future_table {
 public:
  std::uint64_t add(future_state_base* s) {
    open_.emplace(++last_, s);
    return last_;
  }
  void remove(std::uint64_t id) { open_.erase(id); }
  future_state_base* find(std::uint64_t id) const {
    const auto known = open_.find(id);
    return known != open_.end() ? known->second : nullptr;
  }

 private:
  std::unordered_map<std::uint64_t, future_state_base*> open_;
  std::uint64_t last_ = 0;
};

/// The answer on its way to a future.
template <class... A>
struct future_body {
  std::uint64_t id = 0;
  std::tuple<A...> value;

  void operator()(auto& pe) {
    auto* const s = static_cast<future_state<A...>*>(pe.futures.find(id));
    if (s == nullptr || s->value) return;
    s->value.emplace(std::move(value));
    if (waiter* const w = std::exchange(s->waiting, nullptr)) w->resume();
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & id & value;
  }
};

}  // namespace detail

}  // namespace imbrex
