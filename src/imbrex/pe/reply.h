#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "imbrex/async/activity.h"
#include "imbrex/base/ids.h"
#include "imbrex/base/serialize.h"

namespace imbrex {

class scheduler;

/// Where an answer goes: a place in the reply table of a PE. Plain data.
struct reply_to {
  pe_id pe = no_pe;
  std::uint32_t slot = 0;
  std::uint64_t ticket = 0;

  bool wanted() const { return pe != no_pe; }
};

/// An exception as it travels: the object itself inside a process; between ranks what is known of its type
/// (exception_types.h), else kind and text.
struct failure {
  std::exception_ptr thrown;
  std::string kind;
  std::string what;
  std::string type{};              ///< of exception_types; empty: none of them
  std::vector<std::byte> whole{};  ///< the exception of that type

  static failure of(std::exception_ptr e);
  [[noreturn]] void raise() const;

  template <class Archive>
  void serialize(Archive& ar) {
    if constexpr (!Archive::is_loading) name_kind();
    ar & kind & what & type & whole;
  }

 private:
  void name_kind();
};

/// The answers one PE waits for. A slot is reused after its answer came; tickets tell a late answer from the
/// next one.
class reply_table {
 public:
  reply_to add(pe_id pe, waiter* w) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.push_back({});
    }
    const std::uint32_t n = free_.back();
    free_.pop_back();
    slots_[n] = {w, ++last_ticket_};
    return {pe, n, last_ticket_};
  }
  /// Who waits for this answer; null when nobody does any more. Frees the slot.
  waiter* take(const reply_to& r) {
    if (r.slot >= slots_.size() || slots_[r.slot].ticket != r.ticket) return nullptr;
    waiter* w = slots_[r.slot].waiting;
    slots_[r.slot] = {};
    free_.push_back(r.slot);
    return w;
  }

 private:
  struct slot {
    waiter* waiting = nullptr;
    std::uint64_t ticket = 0;
  };
  std::vector<slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t last_ticket_ = 0;
};

/// A value, `std::monostate` for void, or why there is none.
template <class R>
using outcome = std::variant<R, failure>;

template <class R>
using value_or_unit = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

/// Awaits one answer. The request is sent when the awaiter suspends.
template <class R>
class reply_awaiter : public waiter {
 public:
  reply_awaiter() = default;
  ~reply_awaiter();
  bool await_ready() const noexcept { return false; }

  std::optional<outcome<value_or_unit<R>>> answer;

 protected:
  /// Registers with the PE's table; the caller then sends the request.
  reply_to expect(std::coroutine_handle<> h, std::string (*what)(const waiter*));
  R take() {
    if (auto* f = std::get_if<failure>(&*answer)) f->raise();
    if constexpr (!std::is_void_v<R>) return std::get<0>(std::move(*answer));
  }

 private:
  reply_to address_;
};

namespace detail {
/// What a value of this type is in a message; other than itself for `hetero_object`.
template <class T>
struct travelling {
  using type = T;
};
}  // namespace detail

/// The answer on its way back.
template <class R>
struct reply_body {
  using value = typename detail::travelling<value_or_unit<R>>::type;
  static constexpr bool may_part = detail::may_leave_out<value>;
  reply_to to;
  outcome<value> answer;

  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & to& beside(answer);
  }
};

}  // namespace imbrex
