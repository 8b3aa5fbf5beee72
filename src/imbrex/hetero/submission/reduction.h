#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/hetero/open_reduction.h"
#include "imbrex/hetero/submission/combining.h"
#include "imbrex/hetero/submission/hetero_grid.h"
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
  const combining_kernel<T>* by_kernel = nullptr;

  /// Parts are combined on devices, too, by this kernel of the program's, `void(int n, T* into, const T* from)`, which
  /// does to `n` elements what the operation does.
  reduction_into by(const combining_kernel<T>& k) const { return {object, op, identity, width, &k}; }
  /// In so many parts (of a graph: on each rank), so that as many tasks run at once. The result's bits depend on this,
  /// and on nothing else.
  reduction_into over(std::size_t parts) const {
    if (parts == 0) throw usage_error("reduce(...).over(0): a reduction has at least one part");
    return {object, op, identity, parts, by_kernel};
  }
};
template <class T, class Op>
using reduce_argument = reduction_into<hetero_object<T>, T, Op>;
template <class T, class Op>
using reduce_grid_argument = reduction_into<hetero_grid<T>, T, Op>;

/// \name As an argument: `imbrex::submit({}, count, text, imbrex::reduce(histogram, imbrex::sum))`
/// The task finds in the place of the object what some others have left, or `identity` in all elements if it is the
/// first of them, and adds to it (`std::span<T>`, `T*`). It waits for these others and for nobody else: the tasks that
/// reduce into one object are in eight parts, by turns in the order of submission, each with elements of its own, and
/// these are combined, element by element, and with what the object had if it had anything, when it is next used
/// otherwise: by a task, a view, a message. That is done along a tree, each step where its two parts are: on a device,
/// if `op` is one of the operations below on `int`, `long`, unsigned ones, `float` or `double`, or if `by` says how;
/// else on the host. `op`: an operation for reductions, `void operator()(T& into, T&& from)`, associative and
/// commutative; `identity` is that of the operation's elements, which `imbrex::sum`, `product`, `min`, `max` and those
/// of bits and truth values know. The bits are the same whoever runs what. Not inside a task. By no other argument does
/// the task use the object, or what has elements in common with it. An object with reductions in a window is combined
/// at its end. So into a grid or a tile of one, with a `tile_view<T>` for the parameter.
///@{
template <class T, class Op>
reduce_argument<T, Op> reduce(hetero_object<T> into, Op op, T identity) {
  return {std::move(into), std::move(op), identity};
}
template <class T, class Op>
reduce_argument<T, Op> reduce(hetero_object<T> into, Op op) {
  return {std::move(into), op, Op::template identity<T>()};
}
template <class T, class Op>
reduce_grid_argument<T, Op> reduce(hetero_grid<T> into, Op op, T identity) {
  return {std::move(into), std::move(op), identity};
}
template <class T, class Op>
reduce_grid_argument<T, Op> reduce(hetero_grid<T> into, Op op) {
  return {std::move(into), op, Op::template identity<T>()};
}
///@}

namespace detail {

template <class Object, class T, class Op>
constexpr bool reduces<reduction_into<Object, T, Op>> = true;

template <class T, class Op>
class reduction final : public open_reduction {
 public:
  /// `shape`: of a grid or tile.
  template <class Object>
  reduction(hetero_domain& domain, hetero_data& into, std::size_t size, const reduction_into<Object, T, Op>& a,
            std::optional<tile_shape> shape = {})
      : open_reduction(domain.reductions(), into),
        domain_(domain),
        size_(size),
        shape_(shape),
        combine_{a.op, a.by_kernel},
        identity_(a.identity),
        width_(a.width) {}

  bool is_of(const Op& op, std::size_t width) const {
    if constexpr (std::equality_comparable<Op>) {
      if (!(combine_.op == op)) return false;
    }
    return width_ == width;
  }
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
    const task_options o{.name = "combine", .priority = priority};
    for (std::size_t step = 1; step < parts_.size(); step *= 2) {
      for (std::size_t i = 0; i + step < parts_.size(); i += 2 * step) {
        submit(domain_, o, on_objects<T, combining<T, Op>>{combine_}, parts_[i], parts_[i + step]);
      }
    }
    if (shape_) {
      const auto whole = hetero_grid<T>::of(object(), *shape_);
      end<on_tiles>(o, whole, hetero_grid<T>::of(parts_[0], whole.extent()));
    } else {
      end<on_objects>(o, hetero_object<T>::of(object(), size_), parts_[0]);
    }
  }

 private:
  template <template <class, class> class On, class Whole, class Part>
  void end(const task_options& o, const Whole& whole, const Part& part) {
    if (domain_.will_be_written(object())) {
      submit(domain_, o, On<T, combining<T, Op>>{combine_}, whole, part);
    } else {
      submit(domain_, o, On<T, taking<T>>{}, write(whole), part);
    }
  }
  void begin(const hetero_object<T>& part) {
    const task_options o{.name = "identity"};
    const auto fill = [identity = identity_](std::span<T> v) { std::ranges::fill(v, identity); };
    if (is_zero()) {
      const auto clear = [](stream& s, std::span<T> v) {
        if (!v.empty()) s.fill(v.data(), 0, v.size_bytes());
      };
      submit(domain_, o, codelet{fill, clear}, write(part));
    } else if constexpr (devices_know<T>) {
      const auto fill_there = [identity = identity_](stream& s, std::span<T> v) {
        fill_on(s, identity, v.data(), v.size());
      };
      submit(domain_, o, codelet{fill, fill_there}, write(part));
    } else {
      submit(domain_, o, fill, write(part));
    }
  }
  bool is_zero() const {
    std::array<unsigned char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &identity_, sizeof(T));
    return std::ranges::all_of(bytes, [](unsigned char b) { return b == 0; });
  }

  hetero_domain& domain_;
  const std::size_t size_;
  const std::optional<tile_shape> shape_;
  const combining<T, Op> combine_;
  const T identity_;
  const std::size_t width_;
  std::size_t turn_ = 0;
  std::vector<hetero_object<T>> parts_;
};

/// The open reduction into an object or tile, made now if there is none, or one of another kind.
template <class T, class Op, class Object>
reduction<T, Op>& reduction_of(hetero_domain& domain, const reduction_into<Object, T, Op>& a, const hetero_object<T>& o,
                               std::optional<tile_shape> shape = {}) {
  if (executor::current() != &domain.pe()) {
    throw usage_error(
        "a task shall reduce into an object, but is submitted by another task, or on another PE than the object's: "
        "submit it there");
  }
  if (o.domain() != &domain) {
    throw usage_error("a task shall reduce into an object of another PE: send it there in a message");
  }
  hetero_data& d = *o.data();
  auto* open = dynamic_cast<reduction<T, Op>*>(d.reducing);
  if (open == nullptr || !open->is_of(a.op, a.width)) {
    if (d.reducing != nullptr) domain.close_reduction(d, 0);
    open = new reduction<T, Op>(domain, d, o.size(), a, shape);
    d.reducing = open;
  }
  return *open;
}

template <class T, class Op>
struct argument_in<reduce_argument<T, Op>> {
  static auto of(hetero_domain& domain, const reduce_argument<T, Op>& a) {
    return read_write(reduction_of(domain, a, a.object).next_part());
  }
};
template <class T, class Op>
struct argument_in<reduce_grid_argument<T, Op>> {
  static auto of(hetero_domain& domain, const reduce_grid_argument<T, Op>& a) {
    auto& open = reduction_of(domain, a, a.object.handle(), a.object.shape());
    return read_write(hetero_grid<T>::of(open.next_part(), a.object.extent()));
  }
};

}  // namespace detail

}  // namespace imbrex
