#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
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
  friend bool operator==(const reply_to&, const reply_to&) = default;
};

/// A coroutine that waits for an answer.
struct reply_waiter : waiter {
  reply_to address;
  /// That of answers which follow: no other waiter has it.
  static const wait_mobility follows;
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
/// next one. Who waits may go to another PE of the process: the answer, which comes here, follows.
class reply_table {
 public:
  /// Where an answer is to go.
  struct receiver {
    reply_waiter* waiting = nullptr;               ///< on this PE; null when nobody waits for it any more
    std::shared_ptr<const work_route> route = {};  ///< to who has moved; else null
  };

  reply_to add(pe_id pe, reply_waiter* w) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.push_back({});
    }
    const std::uint32_t n = free_.back();
    free_.pop_back();
    slots_[n] = {w, ++last_ticket_, {}};
    return {pe, n, last_ticket_};
  }
  /// Who waits for this answer, which is expected no more. `here`: this PE.
  receiver take(const reply_to& r, pe_id here) {
    if (r.pe != here || !is_expected(r)) return {arrived_ != nullptr ? arrived_->find(r) : nullptr};
    receiver to{slots_[r.slot].waiting, std::move(slots_[r.slot].route)};
    slots_[r.slot] = {};
    free_.push_back(r.slot);
    return to;
  }
  /// Who waits for this answer has left this PE, which `r` names.
  void send_after(const reply_to& r, std::shared_ptr<const work_route> route) {
    if (!is_expected(r)) return;  // it has come, and is following
    slots_[r.slot].waiting = nullptr;
    slots_[r.slot].route = std::move(route);
  }
  /// `w`, whose answer comes here, is here again.
  void came_back(reply_waiter& w) {
    if (is_expected(w.address)) slots_[w.address.slot] = {&w, w.address.ticket, {}};
  }
  /// Who came here from other PEs, and waits; while an answer is performed that has followed them.
  struct arrivals {
    virtual ~arrivals() = default;
    virtual reply_waiter* find(const reply_to& r) = 0;
  };
  void look_among(arrivals* a) { arrived_ = a; }

 private:
  struct slot {
    reply_waiter* waiting = nullptr;
    std::uint64_t ticket = 0;
    std::shared_ptr<const work_route> route;
  };
  bool is_expected(const reply_to& r) const { return r.slot < slots_.size() && slots_[r.slot].ticket == r.ticket; }

  std::vector<slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t last_ticket_ = 0;
  arrivals* arrived_ = nullptr;
};

/// A value, `std::monostate` for void, or why there is none.
template <class R>
using outcome = std::variant<R, failure>;

template <class R>
using value_or_unit = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

/// Awaits one answer. The request is sent when the awaiter suspends.
template <class R>
class reply_awaiter : public reply_waiter {
 public:
  reply_awaiter() = default;
  ~reply_awaiter();
  bool await_ready() const noexcept { return false; }

  std::optional<outcome<value_or_unit<R>>> answer;

 protected:
  /// Registers with the PE's table; the caller then sends the request.
  reply_to expect(std::coroutine_handle<> h, std::string (*what)(const waiter*));
  /// The same of an answer that comes by `reply_body`, and so follows a coroutine that moves.
  reply_to expect_anywhere(std::coroutine_handle<> h, std::string (*what)(const waiter*));
  R take() {
    if (auto* f = std::get_if<failure>(&*answer)) f->raise();
    if constexpr (!std::is_void_v<R>) return std::get<0>(std::move(*answer));
  }
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
