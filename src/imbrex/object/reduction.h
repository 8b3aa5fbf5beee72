#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "imbrex/object/broadcast.h"
#include "imbrex/object/collection.h"
#include "imbrex/object/entry_message.h"
#include "imbrex/object/reply_impl.h"

/// Reductions over an array or a section: the operations, the targets of the result, and how a contribution travels.
namespace imbrex {

namespace detail {
template <class T>
concept reducible_range = requires(T& t) {
  t.begin();
  t.end();
  t.size();
} && !std::is_same_v<T, std::string>;

template <class Op, class T>
void reduce_into(const Op& op, T& into, const T& from) {
  if constexpr (reducible_range<T>) {
    if (into.size() != from.size()) {
      throw usage_error(fmt::format("a reduction of arrays got lengths {} and {}: all elements contribute equally many",
                                    into.size(), from.size()));
    }
    auto f = from.begin();
    for (auto&& x : into) x = op.template combine<typename T::value_type>(x, *f++);
  } else {
    into = op.combine(into, from);
  }
}
}  // namespace detail

/// An operation is any type with `void operator()(T& into, T&& from) const`, associative and commutative: values are
/// combined in the order in which they come. (A floating-point sum may therefore differ in its last bits from run to
/// run; sums of integers do not.) The built-in ones work on numbers, and element by element on vectors and arrays.
#define IMBREX_REDUCTION_OP(type, object, expression) \
  struct type {                                       \
    template <class T>                                \
    static T combine(const T& a, const T& b) {        \
      return static_cast<T>(expression);              \
    }                                                 \
    template <class T>                                \
    void operator()(T& into, T&& from) const {        \
      detail::reduce_into(*this, into, from);         \
    }                                                 \
  };                                                  \
  inline constexpr type object {}

IMBREX_REDUCTION_OP(sum_op, sum, a + b);
IMBREX_REDUCTION_OP(product_op, product, a* b);
IMBREX_REDUCTION_OP(min_op, min, b < a ? b : a);
IMBREX_REDUCTION_OP(max_op, max, a < b ? b : a);
IMBREX_REDUCTION_OP(logical_and_op, logical_and, a&& b);
IMBREX_REDUCTION_OP(logical_or_op, logical_or, a || b);
IMBREX_REDUCTION_OP(bit_and_op, bit_and, a& b);
IMBREX_REDUCTION_OP(bit_or_op, bit_or, a | b);
IMBREX_REDUCTION_OP(bit_xor_op, bit_xor, a ^ b);
#undef IMBREX_REDUCTION_OP

/// Joins vectors or strings; the order of the parts is not defined.
struct concatenate_op {
  template <class T>
  void operator()(T& into, T&& from) const {
    into.insert(into.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }
};
inline constexpr concatenate_op concatenate{};

namespace detail {

/// Of a value kept for `co_await array.reduction<T>()`.
template <class T>
struct kept_result final : result_base {
  explicit kept_result(T v) : value(std::move(v)) {}
  const char* type_name() const override { return detail::type_name<T>(); }
  void answer(scheduler& pe, const reply_to& to) override;
  T value;
};

/// The request of `co_await array.reduction<T>()` on its way to the root.
struct reduction_request {
  reduction_id which;
  std::string wanted_type;
  reply_to reply;
  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & which & wanted_type & reply;
  }
};

template <class T, class Op, class Target>
struct partial final : partial_base {
  inline static const char tag = 0;
  partial(Op o, Target t) : partial_base(&tag, detail::type_name<partial>()), op(std::move(o)), target(std::move(t)) {}

  void add(T&& v) {
    if (value) {
      op(*value, std::move(v));
    } else {
      value.emplace(std::move(v));
    }
  }
  void pass_up(scheduler& pe, const reduction_id& r, pe_id parent) override;
  void deliver(scheduler& pe, const reduction_id& r) override { target(pe, r, std::move(*value)); }

  std::optional<T> value;
  Op op;
  Target target;
};

/// The reducer of `r` on `pe`, or null when its array or section is not known here yet.
inline reducer* find_reducer(scheduler& pe, const reduction_id& r) {
  collection* c = pe.find_collection(r.array);
  if (c == nullptr) return nullptr;
  if (r.section.whole_array()) return &c->reductions();
  return &c->add_section(r.section).reductions;
}

template <class T, class Op, class Target>
void add_contribution(reducer& red, const reduction_id& r, T&& v, const Op& op, const Target& target,
                      std::uint64_t count, std::uint64_t local) {
  using P = partial<std::remove_cvref_t<T>, Op, Target>;
  reducer::slot& slot = red.at(r.number);
  std::unique_ptr<partial_base>& p = slot.value;
  if (!p) {
    p = std::make_unique<P>(op, target);
  } else if (p->type != &P::tag) [[unlikely]] {
    throw usage_error(fmt::format("elements disagree about reduction {}: one contributes {}, another {}", r.number,
                                  type_name<P>(), p->type_name));
  }
  static_cast<P&>(*p).add(std::forward<T>(v));
  red.added(slot, r.number, count, local);
}

/// A partial value on its way to the PE above.
template <class T, class Op, class Target>
struct partial_body {
  static constexpr bool may_part = may_leave_out<T>;
  reduction_id which;
  std::uint64_t count = 0;
  T value{};
  Op op{};
  Target target{};

  void operator()(scheduler& pe) {
    reducer* red = find_reducer(pe, which);
    if (red == nullptr) {
      pe.hold_for_collection(which.array, std::move(*this));
      return;
    }
    add_contribution(*red, which, std::move(value), op, target, count, 0);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & which & count& beside(value) & op & target;
  }
};

template <class T, class Op, class Target>
void partial<T, Op, Target>::pass_up(scheduler& pe, const reduction_id& r, pe_id parent) {
  pe.send(parent, partial_body<T, Op, Target>{r, count, std::move(*value), op, target}, priorities::communication);
}

template <class T>
void kept_result<T>::answer(scheduler& pe, const reply_to& to) {
  send_reply<T>(pe, to, std::move(value));
}

}  // namespace detail

/// \name Targets: who gets the result of a reduction. Made by the functions below.
///@{

/// Kept at the array until `co_await array.reduction<T>()` takes it. The default.
struct to_reduction {
  template <class T>
  void operator()(scheduler& pe, const reduction_id& r, T&& value) const {
    detail::find_reducer(pe, r)->keep(
        r.number, std::make_unique<detail::kept_result<std::remove_cvref_t<T>>>(std::forward<T>(value)));
  }
};

/// An entry method of one element.
template <auto M, class Index>
struct to_element {
  collection_id array;
  Index index{};
  template <class T>
  void operator()(scheduler& pe, const reduction_id&, T&& value) const {
    if constexpr (std::tuple_size_v<typename entry<M>::args> == 0) {
      send_entry<M>(pe, array, index, priorities::communication, reply_to{});
    } else {
      static_assert(entry<M>::template accepts<T>,
                    "imbrex: the entry method that gets a reduction's result takes one argument, the value");
      send_entry<M>(pe, array, index, priorities::communication, reply_to{}, std::forward<T>(value));
    }
  }
};

/// An entry method of all elements of an array.
template <auto M, class Index>
struct to_all {
  collection_id array;
  template <class T>
  void operator()(scheduler& pe, const reduction_id&, T&& value) const {
    if constexpr (std::tuple_size_v<typename entry<M>::args> == 0) {
      broadcast_entry<M, Index>(pe, array, section_id{}, priorities::communication);
    } else {
      broadcast_entry<M, Index>(pe, array, section_id{}, priorities::communication, std::forward<T>(value));
    }
  }
};

/// A `when` slot of one element, or of all: the result comes under the given reference number.
template <auto M, class Index, class Ref>
struct to_slot_of_element {
  collection_id array;
  Index index{};
  Ref reference{};
  template <class T>
  void operator()(scheduler& pe, const reduction_id&, T&& value) const {
    send_entry<M>(pe, array, index, priorities::communication, reply_to{}, reference, std::forward<T>(value));
  }
};
template <auto M, class Index, class Ref>
struct to_slot_of_all {
  collection_id array;
  Ref reference{};
  template <class T>
  void operator()(scheduler& pe, const reduction_id&, T&& value) const {
    broadcast_entry<M, Index>(pe, array, section_id{}, priorities::communication, reference, std::forward<T>(value));
  }
};

/// The coroutines that contributed with `allreduce`.
struct to_contributors {
  template <class T>
  void operator()(scheduler& pe, const reduction_id& r, T&& value) const;
};
///@}

namespace detail {

template <class T>
struct all_reduced_waiter : reducer::all_waiter {
  std::optional<T> value;
};

/// Of a reduction without data.
struct take_any {
  template <class T>
  void operator()(T&, T&&) const {}
};

/// The result of an allreduce on its way down to all PEs.
template <class T>
struct all_reduced {
  static constexpr bool may_part = may_leave_out<T>;
  pe_id root = no_pe;
  reduction_id which;
  T value{};

  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::communication);
    reducer* red = find_reducer(pe, which);
    if (red == nullptr) return;  // no element here, so nobody waits
    for (auto* w = red->take_waiting(which.number); w != nullptr;) {
      auto* following = w->next_waiter;
      w->next_waiter = nullptr;
      static_cast<all_reduced_waiter<T>*>(w)->value.emplace(value);
      w->resume();
      w = following;
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & which& beside(value);
  }
};

/// `co_await` of an allreduce: contributes when the coroutine suspends.
template <class T, class Op>
class allreduce_awaiter : public all_reduced_waiter<T> {
 public:
  allreduce_awaiter(reducer& red, const reduction_id& r, T v, Op op)
      : reducer_(red), which_(r), mine_(std::move(v)), op_(std::move(op)) {}
  ~allreduce_awaiter() {
    if (waiting_ && !this->value) reducer_.forget(this);
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    this->suspend(h, [](const waiter* w) {
      return fmt::format("the result of reduction {}", static_cast<const allreduce_awaiter*>(w)->which_.number);
    });
    this->number = which_.number;
    waiting_ = true;
    reducer_.wait_for_all(this);
    add_contribution(reducer_, which_, std::move(mine_), op_, to_contributors{}, 1, 1);
  }
  T await_resume() { return std::move(*this->value); }

 private:
  reducer& reducer_;
  reduction_id which_;
  T mine_;
  Op op_;
  bool waiting_ = false;
};

template <class T, class Op>
struct allreduce_wait {
  reducer* red;
  reduction_id which;
  T value;
  Op op;
  allreduce_awaiter<T, Op> operator co_await() && {
    return allreduce_awaiter<T, Op>(*red, which, std::move(value), op);
  }
};

}  // namespace detail

template <class T>
void to_contributors::operator()(scheduler& pe, const reduction_id& r, T&& value) const {
  pe.spread(detail::all_reduced<std::remove_cvref_t<T>>{pe.id(), r, std::forward<T>(value)}, priorities::communication);
}

}  // namespace imbrex
