#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "imbrex/async/completion.h"
#include "imbrex/device/rounds/recorded_rounds.h"
#include "imbrex/device/rounds/round_value.h"

namespace imbrex {

/// When rounds (`repeat`) have been enough: when `enough(all)` of what the values of all chares give together by `op`,
/// an operation of reductions. It is looked at after each `every` rounds, an even number, though not before the eighth.
/// `enough` gives the same for the same number, wherever it is called.
///
///     ix::until(change_, ix::sum, [](double c) { return c < 1e-9; }, 20)
template <class T, class Op, class Enough>
struct until {
  static_assert(std::predicate<const Enough&, T>, "imbrex: whether a value is enough is told by a bool(T)");
  until(round_value<T>& v, Op o, Enough e, int after_each = 20)
      : value(&v), operation(std::move(o)), enough(std::move(e)), every(after_each) {}

  round_value<T>* value;
  Op operation;
  Enough enough;
  int every;
};

namespace detail {

/// Throws `usage_error`.
void check_looks(int every);
[[noreturn]] void refuse_missing_value();

/// Whether rounds have been enough, for who does those of all chares.
class round_judge {
 public:
  explicit round_judge(int every) : every_(every) { check_looks(every); }
  virtual ~round_judge() = default;

  int every() const { return every_; }
  /// After how many rounds the value is looked at next, if `num_done` are behind.
  int next_look(int num_done) const { return std::max((num_done / every_ + 1) * every_, (7 / every_ + 1) * every_); }
  bool is_to_look(int num_done) const { return num_done == next_look(num_done - 1); }
  /// Of the parts of all chares, in their order.
  virtual bool is_enough(std::span<const std::span<const std::byte>> parts) const = 0;

 protected:
  const int every_;
};

struct no_judge {};

template <class T, class Op, class Enough>
class round_judge_of final : public round_judge {
 public:
  explicit round_judge_of(until<T, Op, Enough> c) : round_judge(c.every), condition_(std::move(c)) {}

  void add_to(recorded_rounds& all, std::uint64_t number) const {
    if (!condition_.value->is_asked_for()) refuse_missing_value();
    const std::span<const T> parts = condition_.value->on_device();
    all.add_value({number, parts.data(), parts.size_bytes()});
  }
  bool is_enough(std::span<const std::span<const std::byte>> parts) const override {
    bool is_first = true;
    T all{};
    for (const auto& p : parts) {
      const T one = together({reinterpret_cast<const T*>(p.data()), p.size() / sizeof(T)});
      is_first ? void(all = one) : add(all, one);
      is_first = false;
    }
    return condition_.enough(all);
  }

  /// \name Where each chare's rounds are called
  ///@{
  void look_where_due(int num_done) {
    if (num_done == 0 || !is_to_look(num_done)) return;
    if (!condition_.value->is_asked_for()) refuse_missing_value();
    there_ = condition_.value->look();
    looked_at_ = num_done;
    is_decided_ = false;
  }
  /// Half-way to the next look: by then it is there, and the device has work meanwhile.
  bool is_to_ask(int num_done) const {
    return there_ != nullptr && !is_decided_ && num_done == looked_at_ + every_ / 2;
  }
  completion& there() const { return *there_; }
  T own() const { return together(condition_.value->seen()); }
  const Op& operation() const { return condition_.operation; }
  void decide(const T& all) {
    is_decided_ = true;
    is_enough_ = condition_.enough(all);
  }
  bool are_over(int num_done) const { return is_decided_ && is_enough_ && num_done == looked_at_ + every_; }
  ///@}

 private:
  void add(T& into, T one) const { condition_.operation(into, std::move(one)); }
  T together(std::span<const T> parts) const {
    T all = parts[0];
    for (const T& p : parts.subspan(1)) add(all, p);
    return all;
  }

  until<T, Op, Enough> condition_;
  std::shared_ptr<completion> there_;
  int looked_at_ = 0;
  bool is_decided_ = false, is_enough_ = false;
};

}  // namespace detail

}  // namespace imbrex
