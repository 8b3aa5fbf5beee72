#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "imbrex/async/activity.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/base/type_name.h"
#include "imbrex/object/entry/slot_queue.h"

namespace imbrex {

/// An entry slot: a member of a chare to which others send like to an entry method, and whose messages a coroutine
/// of the chare awaits by reference number, as with Structured Dagger's `when` (Choi et al. 2022, II-A).
///
///     ix::when<int, face, std::vector<double>> arrived;                 // member; the first argument is the reference
///     proxy.send<&block::arrived>(iteration, side, std::move(values));  // from anywhere
///     auto [side, values] = co_await arrived(iteration);                // in a coroutine of this chare
///
/// Messages with other reference numbers queue, those with equal ones are taken in the order they came. Several
/// coroutines may wait; each message goes to one. The result is a tuple of the arguments after the reference.
/// The coroutine is resumed by the arrival, on the element's PE. Never blocks the PE.
template <class Ref, class... Args>
class when : public slot_queue {
  static_assert(std::integral<Ref> || std::is_enum_v<Ref>,
                "imbrex: the first argument of a when slot is its reference number: an integer or enum");

 public:
  using value_type = std::tuple<std::remove_cvref_t<Args>...>;

  when() : slot_queue(detail::type_name<when>()) {}
  ~when() {
    while (first_ != nullptr) drop_after(nullptr, first_);
  }

  class awaiter;
  /// What `co_await slot(reference)` awaits; may be given to `when_all` and `when_any`.
  struct [[nodiscard]] wait {
    when* slot;
    Ref reference;
    bool is_any;  // beside it, not an optional: that is copied as one word right after its parts were written
    awaiter operator co_await() const { return awaiter(*slot, reference, is_any); }
  };
  wait operator()(Ref reference) { return {this, reference, false}; }
  /// Waits for the next message whatever its reference number.
  wait any() { return {this, Ref{}, true}; }

  class [[nodiscard]] awaiter : public waiter {
   public:
    awaiter(when& slot, Ref reference, bool is_any) : slot_(slot), reference_(reference), is_any_(is_any) {}
    ~awaiter() {
      if (waiting_) slot_.forget(this);
    }
    bool await_ready() { return slot_.take_queued(*this); }
    void await_suspend(std::coroutine_handle<> h) {
      suspend(h, [](const waiter* w) { return static_cast<const awaiter*>(w)->text(); }, &moves_with_its_chare);
      slot_.remember(this);
    }
    value_type await_resume() { return std::move(*value_); }

   private:
    friend class when;
    bool matches(Ref r) const { return is_any_ || reference_ == r; }
    std::string text() const {
      return fmt::format("{} with {}{}", slot_.name_,
                         is_any_ ? "any reference" : fmt::format("reference {}", number(reference_)),
                         slot_.queued_text());
    }

    when& slot_;
    const Ref reference_;
    const bool is_any_;
    bool waiting_ = false;
    std::optional<value_type> value_;
    awaiter* next_awaiter_ = nullptr;
  };

  /// For the runtime: a message has come.
  void arrive(const char* name, Ref reference, std::remove_cvref_t<Args>... args) {
    name_ = name;
    for (awaiter** p = &waiting_; *p != nullptr; p = &(*p)->next_awaiter_) {
      awaiter* a = *p;
      if (!a->matches(reference)) continue;
      *p = a->next_awaiter_;
      a->waiting_ = false;
      a->value_.emplace(std::move(args)...);
      a->resume();
      return;
    }
    auto* m = new (slab::allocate(sizeof(queued))) queued{nullptr, reference, value_type(std::move(args)...)};
    (last_ != nullptr ? last_->next : first_) = m;
    last_ = m;
    ++num_queued_;
  }

  /// Queued messages move with the element to another process; coroutines that wait do not.
  template <class Archive>
  void serialize(Archive& ar) {
    std::uint64_t n = num_queued_;
    ar & n;
    if constexpr (Archive::is_loading) {
      for (std::uint64_t i = 0; i < n; ++i) {
        auto* m = new (slab::allocate(sizeof(queued))) queued{};
        (last_ != nullptr ? last_->next : first_) = m;
        last_ = m;
        ++num_queued_;
        ar & m->reference & m->value;
      }
    } else {
      for (queued* m = first_; m != nullptr; m = m->next) ar & m->reference & m->value;
      if constexpr (requires { ar.has_written(*this); }) ar.has_written(*this);
    }
  }

 private:
  struct queued {
    queued* next = nullptr;
    Ref reference{};
    value_type value;
  };

  bool take_queued(awaiter& a) {
    queued* before = nullptr;
    for (queued* m = first_; m != nullptr; before = m, m = m->next) {
      if (!a.matches(m->reference)) continue;
      a.value_.emplace(std::move(m->value));
      drop_after(before, m);
      return true;
    }
    return false;
  }
  void drop_after(queued* before, queued* m) {
    (before != nullptr ? before->next : first_) = m->next;
    if (last_ == m) last_ = before;
    --num_queued_;
    m->~queued();
    slab::free(m);
  }
  void remember(awaiter* a) {
    awaiter** end = &waiting_;
    while (*end != nullptr) end = &(*end)->next_awaiter_;
    *end = a;
    a->waiting_ = true;
  }
  void forget(awaiter* a) {
    for (awaiter** p = &waiting_; *p != nullptr; p = &(*p)->next_awaiter_) {
      if (*p != a) continue;
      *p = a->next_awaiter_;
      return;
    }
  }
  static long long number(Ref r) { return static_cast<long long>(r); }
  std::string queued_text() const {
    std::string text;
    int shown = 0;
    for (queued* m = first_; m != nullptr && shown < 8; m = m->next, ++shown) {
      text += fmt::format("{}{}", shown == 0 ? " (queued with other references: " : ", ", number(m->reference));
    }
    if (shown == 0) return " (nothing queued)";
    return text + (num_queued_ > 8 ? ", ...)" : ")");
  }

  queued* first_ = nullptr;
  queued* last_ = nullptr;
  awaiter* waiting_ = nullptr;
};

}  // namespace imbrex
