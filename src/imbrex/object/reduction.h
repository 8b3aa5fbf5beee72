#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "imbrex/hetero/submission/element_operation.h"
#include "imbrex/object/broadcast.h"
#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/collection/entry_message.h"
#include "imbrex/object/entry/argument_values.h"
#include "imbrex/pe/reply_impl.h"

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

template <class T>
constexpr T largest() {
  using limits = std::numeric_limits<T>;
  return limits::has_infinity ? limits::infinity() : limits::max();
}
template <class T>
constexpr T smallest() {
  using limits = std::numeric_limits<T>;
  return limits::has_infinity ? -limits::infinity() : limits::lowest();
}
}  // namespace detail

/// An operation is any type with `void operator()(T& into, T&& from) const`, associative and commutative: values are
/// combined in the order in which they come. (A floating-point sum may therefore differ in its last bits from run to
/// run; sums of integers do not.) The built-in ones work on numbers, and element by element on vectors and arrays.
#define IMBREX_REDUCTION_OP(type, object, expression, of_none, on_devices) \
  struct type {                                                            \
    static constexpr auto on_elements = element_operation::on_devices;     \
    template <class T>                                                     \
    static T combine(const T& a, const T& b) {                             \
      return static_cast<T>(expression);                                   \
    }                                                                      \
    template <class T>                                                     \
    static constexpr T identity() {                                        \
      return static_cast<T>(of_none);                                      \
    }                                                                      \
    template <class T>                                                     \
    void operator()(T& into, T&& from) const {                             \
      detail::reduce_into(*this, into, from);                              \
    }                                                                      \
  };                                                                       \
  inline constexpr type object {}

/// `ix::sum`: a + b.
IMBREX_REDUCTION_OP(sum_op, sum, a + b, 0, sum);
/// `ix::product`: a * b.
IMBREX_REDUCTION_OP(product_op, product, a* b, 1, product);
/// `ix::min`: the smaller one.
IMBREX_REDUCTION_OP(min_op, min, b < a ? b : a, detail::largest<T>(), min);
/// `ix::max`: the larger one.
IMBREX_REDUCTION_OP(max_op, max, a < b ? b : a, detail::smallest<T>(), max);
/// `ix::logical_and`: whether all are true.
IMBREX_REDUCTION_OP(logical_and_op, logical_and, a&& b, true, none);
/// `ix::logical_or`: whether one is true.
IMBREX_REDUCTION_OP(logical_or_op, logical_or, a || b, false, none);
/// `ix::bit_and`: a & b, of integers.
IMBREX_REDUCTION_OP(bit_and_op, bit_and, a& b, ~T{}, bit_and);
/// `ix::bit_or`: a | b, of integers.
IMBREX_REDUCTION_OP(bit_or_op, bit_or, a | b, 0, bit_or);
/// `ix::bit_xor`: a ^ b, of integers.
IMBREX_REDUCTION_OP(bit_xor_op, bit_xor, a ^ b, 0, bit_xor);
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

/// "the result of a reduction of block".
std::string text_of_result(const reduction_id& which);

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

/// "a value of double (sum_op)", for reports.
std::string text_of_contribution(const char* type, const char* op);

/// The name that a type which the runtime contributes, or its target, has for users.
template <class T>
constexpr const char* name_for_users() {
  if constexpr (requires { T::what_contributes; }) {
    return T::what_contributes;
  } else {
    return nullptr;
  }
}

template <class T, class Op, class Target>
struct partial final : partial_base {
  inline static const char tag = 0;
  static std::string text() {
    if constexpr (name_for_users<Target>() != nullptr) return name_for_users<Target>();
    if constexpr (name_for_users<T>() != nullptr) return name_for_users<T>();
    if constexpr (name_for_users<Op>() != nullptr) return name_for_users<Op>();
    return text_of_contribution(detail::type_name<T>(), detail::type_name<Op>());
  }
  partial(Op o, Target t) : partial_base(&tag, &text), op(std::move(o)), target(std::move(t)) {}

  void add(T&& v) {
    if (value) {
      op(*value, std::move(v));
    } else {
      value.emplace(std::move(v));
    }
  }
  void pass_up(scheduler& pe, const reduction_id& r, pe_id to, pe_id outside) override;
  void deliver(scheduler& pe, const reduction_id& r) override { target(pe, r, std::move(*value)); }

  std::optional<T> value;
  Op op;
  Target target;
};

/// The reducer of `r` on `pe`; null when its array is not known here yet, or its section was freed.
inline reducer* find_reducer(scheduler& pe, const reduction_id& r) {
  collection* c = chare_pe::of(pe).find_collection(r.array);
  if (c == nullptr) return nullptr;
  if (r.section.whole_array()) return &c->reductions();
  if (c->was_freed(r.section)) return nullptr;
  return &c->add_section(r.section).reductions;
}

/// "reduction 3 of block", for reports.
std::string text_of_reduction(scheduler& pe, const reduction_id& r);

[[noreturn]] void refuse_contribution(const reducer& red, std::uint32_t number, const std::string& one,
                                      const std::string& other);

/// `count` contributions to reduction `number`, `local` of them of elements that live here.
template <class T, class Op, class Target>
void add_contribution(reducer& red, std::uint32_t number, T&& v, const Op& op, const Target& target,
                      std::uint64_t count, std::uint64_t local) {
  using P = partial<std::remove_cvref_t<T>, Op, Target>;
  reducer::slot& slot = red.at(number);
  partial_base* p = slot.value.get();
  if (p == nullptr) {
    slot.value = std::make_unique<P>(op, target);
    p = slot.value.get();
  } else if (p->type != &P::tag) [[unlikely]] {
    refuse_contribution(red, number, P::text(), p->describe());
  }
  static_cast<P*>(p)->add(std::forward<T>(v));
  red.added(slot, number, count, local);
}

template <class T, class Op, class Target>
class early_contribution_of final : public early_contribution {
 public:
  early_contribution_of(T value, Op op, Target target)
      : value_(std::move(value)), op_(std::move(op)), target_(std::move(target)) {}
  void contribute(collection& array, std::uint32_t number) override {
    add_contribution(array.reductions(), number, std::move(value_), op_, target_, 1, 1);
  }

 private:
  T value_;
  Op op_;
  Target target_;
};

/// Adds to the next reduction of `e` over its array.
template <class T, class Op, class Target>
void contribute_to_array(element_base& e, T&& value, const Op& op, const Target& target) {
  if (!e.counted) [[unlikely]] {
    e.more().early_contributions.push_back(
        std::make_unique<early_contribution_of<T, Op, Target>>(std::forward<T>(value), op, target));
    return;
  }
  collection& part = *e.part;
  add_contribution(part.reductions(), e.next_reduction, std::forward<T>(value), op, target, 1, 1);
  ++e.next_reduction;
}

/// The number of the next reduction of `e` over section `s`.
std::uint32_t& next_of_section(element_base& e, const section_id& s);
/// This PE's reducer of section `s`, to which an element contributes whose home is here or not.
reducer& section_reducer(collection& part, const section_id& s, bool at_home);

/// The same over a section.
template <class T, class Op, class Target>
void contribute_to_section(element_base& e, const section_id& s, bool at_home, T&& value, const Op& op,
                           const Target& target) {
  collection& part = *e.part;
  const std::uint32_t number = next_of_section(e, s)++;
  if (part.was_freed(s)) return;
  add_contribution(section_reducer(part, s, at_home), number, std::forward<T>(value), op, target, 1, 1);
}

/// A partial value on its way to the PE above.
template <class T, class Op, class Target>
struct partial_body {
  static constexpr bool may_part = may_leave_out<T>;
  reduction_id which;
  std::uint64_t count = 0;
  pe_id outside = no_pe;  ///< the sender, when it belongs to no tree of the section
  T value{};
  Op op{};
  Target target{};

  std::string in_report(scheduler& pe) const { return text_of_reduction(pe, which); }
  void operator()(scheduler& pe) {
    reducer* red = find_reducer(pe, which);
    if (red == nullptr) {
      if (chare_pe::of(pe).find_collection(which.array) == nullptr)
        chare_pe::of(pe).hold_for_collection(which.array, std::move(*this));
      return;
    }
    if (outside != no_pe) red->note_outside(outside);
    add_contribution(*red, which.number, std::move(value), op, target, count, 0);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & which & count & outside& beside(value) & op & target;
  }
};

template <class T, class Op, class Target>
void partial<T, Op, Target>::pass_up(scheduler& pe, const reduction_id& r, pe_id to, pe_id outside) {
  pe.send(to, partial_body<T, Op, Target>{r, count, outside, std::move(*value), op, target}, priorities::communication);
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
template <class E, class Index>
struct to_element {
  collection_id array;
  Index index{};
  template <class T>
  void operator()(scheduler& pe, const reduction_id&, T&& value) const {
    if constexpr (std::tuple_size_v<typename E::args> == 0) {
      send_entry<E>(pe, array, index, priorities::communication, reply_to{});
    } else {
      static_assert(E::template accepts<T>,
                    "imbrex: the entry method that gets a reduction's result takes one argument, the value");
      detail::check_arguments<E>(value);
      send_entry<E>(pe, array, index, priorities::communication, reply_to{}, std::forward<T>(value));
    }
  }
};

/// An entry method of all elements of an array.
template <class E, class Index>
struct to_all {
  collection_id array;
  template <class T>
  void operator()(scheduler& pe, const reduction_id&, T&& value) const {
    if constexpr (std::tuple_size_v<typename E::args> == 0) {
      broadcast_entry<E, Index>(pe, array, section_id{}, priorities::communication);
    } else {
      detail::check_arguments<E>(value);
      broadcast_entry<E, Index>(pe, array, section_id{}, priorities::communication, std::forward<T>(value));
    }
  }
};

/// A `when` slot of one element, or of all: the result comes under the given reference number.
template <class E, class Index, class Ref>
struct to_slot_of_element {
  collection_id array;
  Index index{};
  Ref reference{};
  template <class T>
  void operator()(scheduler& pe, const reduction_id&, T&& value) const {
    detail::check_arguments<E>(reference, value);
    send_entry<E>(pe, array, index, priorities::communication, reply_to{}, reference, std::forward<T>(value));
  }
};
/// To a `when` slot of all elements, made by `deliver`.
template <class E, class Index, class Ref>
struct to_slot_of_all {
  collection_id array;
  Ref reference{};
  template <class T>
  void operator()(scheduler& pe, const reduction_id&, T&& value) const {
    detail::check_arguments<E>(reference, value);
    broadcast_entry<E, Index>(pe, array, section_id{}, priorities::communication, reference, std::forward<T>(value));
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
  static constexpr const char* what_contributes = "a barrier";
  template <class T>
  void operator()(T&, T&&) const {}
};

template <class T>
struct late_result;

/// Hands the result of an allreduce to those of this PE that wait for it, and sends it after those that have moved.
template <class T>
void resume_contributors(reducer& red, const reduction_id& which, const T& value) {
  red.for_each_gone(which.number, [&](const work_route& to) {
    to.carry(active_message<late_result<T>>::make(priorities::communication, late_result<T>{which, value}), true);
  });
  for (auto* w = red.take_waiting(which.number); w != nullptr;) {
    auto* following = w->next_waiter;
    w->next_waiter = nullptr;
    static_cast<all_reduced_waiter<T>*>(w)->value.emplace(value);
    w->resume();
    w = following;
  }
}

/// The result of an allreduce that has followed an element which waits for it to the PE where that is now.
template <class T>
struct late_result {
  reduction_id which;
  T value{};

  void operator()(scheduler& pe) {
    if (reducer* red = find_reducer(pe, which)) resume_contributors(*red, which, value);
  }
  template <class Archive>
  void serialize(Archive&) {}  // stays in its process
};

/// The result of an allreduce over an array on its way down to all PEs.
template <class T>
struct all_reduced {
  static constexpr bool may_part = may_leave_out<T>;
  pe_id root = no_pe;
  reduction_id which;
  T value{};

  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::communication);
    // Where the array is not known yet no element has contributed.
    if (reducer* red = find_reducer(pe, which)) resume_contributors(*red, which, value);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & which& beside(value);
  }
};

/// The same over a section: down its tree, and to the PEs that contributed from outside.
template <class T>
struct section_reduced {
  static constexpr bool may_part = may_leave_out<T>;
  reduction_id which;
  T value{};

  void operator()(scheduler& pe) {
    section_part* const s = chare_pe::of(pe).find_collection(which.array)->find_section(which.section);
    if (s == nullptr) return;
    for (const pe_id child : s->children) pe.send(child, section_reduced(*this), priorities::communication);
    for (const pe_id to : s->reductions.outside()) pe.send(to, section_reduced(*this), priorities::communication);
    resume_contributors(s->reductions, which, value);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & which& beside(value);
  }
};

/// `co_await` of an allreduce: contributes when the coroutine suspends. `Target`: what has the result sent to the
/// contributors, at once or later; whether a checkpoint may be made, or its
/// chare go to another process, while it waits (`is_checkpoint_point`, `is_move_point`).
template <class T, class Op, class Target = to_contributors>
class allreduce_awaiter : public all_reduced_waiter<T> {
 public:
  allreduce_awaiter(element_base& e, const section_id& s, bool at_home, T v, Op op)
      : element_(e), at_home_(at_home), mine_(std::move(v)), op_(std::move(op)) {
    this->section = s;
  }
  ~allreduce_awaiter() {
    if (this->of != nullptr && !this->value) this->of->forget(this);
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    collection& part = *element_.part;
    const section_id s = this->section;
    const bool whole = s.whole_array();
    if (!whole && part.was_freed(s)) throw usage_error("an allreduce over a section that was freed");
    std::uint32_t& counter = whole ? element_.next_reduction : next_of_section(element_, s);
    this->suspend(
        h,
        [](const waiter* w) {
          const auto which = static_cast<const allreduce_awaiter*>(w)->number;
          if constexpr (requires { Target::what_is_awaited; }) {
            return fmt::format("{} (its reduction {})", Target::what_is_awaited, which);
          } else {
            return fmt::format("the result of reduction {}", which);
          }
        },
        mobility_of_wait());
    this->number = counter;
    this->of = whole ? &part.reductions() : &section_reducer(part, s, at_home_);
    this->of->wait_for_all(this);
    if (!whole) ++counter;
    add_contribution(*this->of, this->number, std::move(mine_), op_, Target{}, 1, 1);
    if (whole) ++element_.next_reduction;
  }
  T await_resume() { return std::move(*this->value); }

 private:
  static const wait_mobility* mobility_of_wait() {
    if constexpr (requires { requires Target::is_checkpoint_point; }) {
      return &reducer::all_waiter::follows_from_checkpoint_point;
    } else if constexpr (requires { requires Target::is_move_point; }) {
      return &reducer::all_waiter::follows_from_move_point;
    } else {
      return &reducer::all_waiter::follows;
    }
  }

  element_base& element_;  // of the PE where it suspends
  const bool at_home_;
  T mine_;
  Op op_;
};

template <class T, class Op, class Target = to_contributors>
struct [[nodiscard("co_await it")]] allreduce_wait {
  chare_base* of;  // which may move before this is awaited
  section_id section;
  bool at_home;
  T value;
  Op op;
  awaited_once once = {};
  allreduce_awaiter<T, Op, Target> operator co_await() {
    once.begin();
    return allreduce_awaiter<T, Op, Target>(chare_access::element(*of), section, at_home, std::move(value), op);
  }
};

}  // namespace detail

template <class T>
void to_contributors::operator()(scheduler& pe, const reduction_id& r, T&& value) const {
  using V = std::remove_cvref_t<T>;
  if (r.section.whole_array()) {
    pe.spread(detail::all_reduced<V>{pe.id(), r, std::forward<T>(value)}, priorities::communication);
  } else {
    pe.send(pe.id(), detail::section_reduced<V>{r, std::forward<T>(value)}, priorities::communication);
  }
}

}  // namespace imbrex
