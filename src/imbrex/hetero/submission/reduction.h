#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/hetero/open_reduction.h"
#include "imbrex/hetero/submission/hetero_object.h"
#include "imbrex/hetero/submission/submit.h"

/// Tasks that add up to an object, each apart from the others (StarPU's `STARPU_REDUX`).
namespace imbrex {

/// An object that a task reduces into, and how: see `reduce`.
template <class Object, class T, class Op>
struct reduction_into {
  Object object;
  Op op;
  T identity;
  std::size_t width = 8;

  /// In so many parts (of a graph: on each rank), so that as many tasks run at once. The result's bits depend on this,
  /// and on nothing else.
  reduction_into over(std::size_t parts) const {
    if (parts == 0) throw usage_error("reduce(...).over(0): a reduction has at least one part");
    return {object, op, identity, parts};
  }
};
template <class T, class Op>
using reduce_argument = reduction_into<hetero_object<T>, T, Op>;

/// \name As an argument: `imbrex::submit({}, count, text, imbrex::reduce(histogram, imbrex::sum))`
/// The task finds in the place of the object what some others have left, or `identity` in all elements if it is the
/// first of them, and adds to it (`std::span<T>`, `T*`). It waits for these others and for nobody else: the tasks that
/// reduce into one object are in eight parts, by turns in the order of submission, each with elements of its own, and
/// these are combined, element by element, and with what the object had if it had anything, when it is next used
/// otherwise: by a task, a view, a message. On the host. `op`: an operation for reductions, `void operator()(T& into,
/// T&& from)`, associative and commutative; `identity` is that of the operation's elements, which `imbrex::sum`,
/// `product`, `min`, `max` and those of bits and truth values know. The bits are the same whoever runs what. Not inside
/// a task. An object with reductions in a window is combined at its end.
///@{
template <class T, class Op>
reduce_argument<T, Op> reduce(hetero_object<T> into, Op op, T identity) {
  return {std::move(into), std::move(op), identity};
}
template <class T, class Op>
reduce_argument<T, Op> reduce(hetero_object<T> into, Op op) {
  return {std::move(into), op, Op::template identity<T>()};
}
///@}

namespace detail {

/// What tasks that end a reduction do: `into` gets what both give together, or what `from` has.
template <class T, class Op>
auto combining(Op op) {
  return [op](std::span<T> into, std::span<const T> from) {
    for (std::size_t i = 0; i < into.size(); ++i) op(into[i], T(from[i]));
  };
}
template <class T>
auto taking() {
  return [](std::span<T> into, std::span<const T> from) { std::ranges::copy(from, into.begin()); };
}

template <class T, class Op>
class reduction final : public open_reduction {
 public:
  reduction(hetero_domain& domain, const reduce_argument<T, Op>& a)
      : open_reduction(domain.reductions(), *a.object.data()),
        domain_(domain),
        size_(a.object.size()),
        op_(a.op),
        identity_(a.identity),
        width_(a.width) {}

  bool is(const reduce_argument<T, Op>& a) const { return width_ == a.width; }
  /// Where the next task adds to.
  const hetero_object<T>& next_part() {
    const std::size_t i = turn_++ % width_;
    if (i == parts_.size()) {
      parts_.emplace_back(domain_, size_);
      begin(parts_.back());
    }
    return parts_[i];
  }

  void close(int priority) override {
    const auto combine = combining<T>(op_);
    const task_options o{.name = "combine", .priority = priority};
    for (std::size_t step = 1; step < parts_.size(); step *= 2) {
      for (std::size_t i = 0; i + step < parts_.size(); i += 2 * step) {
        submit(domain_, o, combine, parts_[i], parts_[i + step]);
      }
    }
    const auto whole = hetero_object<T>::of(object(), size_);
    if (domain_.will_be_written(object())) {
      submit(domain_, o, combine, whole, parts_[0]);
    } else {
      submit(domain_, o, taking<T>(), write(whole), parts_[0]);
    }
  }

 private:
  void begin(const hetero_object<T>& part) {
    const task_options o{.name = "identity"};
    const auto fill = [identity = identity_](std::span<T> v) { std::ranges::fill(v, identity); };
    if (!is_zero()) {
      submit(domain_, o, fill, write(part));
      return;
    }
    const auto clear = [](stream& s, std::span<T> v) {
      if (!v.empty()) s.fill(v.data(), 0, v.size_bytes());
    };
    submit(domain_, o, codelet{fill, clear}, write(part));
  }
  bool is_zero() const {
    std::array<unsigned char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &identity_, sizeof(T));
    return std::ranges::all_of(bytes, [](unsigned char b) { return b == 0; });
  }

  hetero_domain& domain_;
  const std::size_t size_;
  const Op op_;
  const T identity_;
  const std::size_t width_;
  std::size_t turn_ = 0;
  std::vector<hetero_object<T>> parts_;
};

template <class T, class Op>
struct argument_in<reduce_argument<T, Op>> {
  static auto of(hetero_domain& domain, const reduce_argument<T, Op>& a) {
    if (executor::current() != &domain.pe()) {
      throw usage_error(
          "a task shall reduce into an object, but is submitted by another task, or on another PE than the object's: "
          "submit it there");
    }
    if (a.object.domain() != &domain) {
      throw usage_error("a task shall reduce into an object of another PE: send it there in a message");
    }
    hetero_data& d = *a.object.data();
    auto* open = dynamic_cast<reduction<T, Op>*>(d.reducing);
    if (open == nullptr || !open->is(a)) {
      if (d.reducing != nullptr) domain.close_reduction(d, 0);
      open = new reduction<T, Op>(domain, a);
      d.reducing = open;
    }
    return read_write(open->next_part());
  }
};

}  // namespace detail

}  // namespace imbrex
