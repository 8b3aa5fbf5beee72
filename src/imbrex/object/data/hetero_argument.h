#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/hetero/submission/hetero_grid.h"
#include "imbrex/hetero/submission/hetero_object.h"
#include "imbrex/object/data/object_parcel.h"
#include "imbrex/pe/reply.h"

/// A `hetero_object` as an argument of an entry method, a slot or a broadcast (PREMA 3.2.2):
///
///     array()[right].send<&block::take>(c, step);       // void take(imbrex::hetero_object<double> c, int step);
///
/// The receiver gets an object of its own, on its PE, with the elements as they are after all tasks submitted before
/// the message was sent. The sender does not wait: its handle may end, the object lives until the data are gone; tasks
/// that it submits later and that write wait until they have been read. The data are read where the newest are, and
/// come to where the first task that reads them can run, if it has been submitted by then, else to the same kind of
/// place: from device to device without the host where they reach each other. The method starts before the data are
/// there: tasks and views that read them wait, as they do for any task before them. When the data never come into being
/// because a task failed, whoever reads them at the receiver fails with that error's kind and text. An element of the
/// same PE that is given the last handle of an object gets that object, not a copy, though tasks still use it; slices
/// are copied. `call` sends when it is awaited. A result of `call` may be an object, too. An empty handle arrives as
/// one. So do grids and tiles (`hetero_grid`). Throws `usage_error` for an object of another PE, or one that nobody has
/// written.
namespace imbrex::detail {

template <class T>
inline constexpr bool is_hetero_object = false;
template <class T>
inline constexpr bool is_hetero_object<hetero_object<T>> = true;
template <class T>
inline constexpr bool is_hetero_object<hetero_grid<T>> = true;

/// \name What is done with the data, without their type
///@{
void check_sendable(hetero_data& d);
/// Gives true when `d` may go over to the receiver as it is; else `d` is copied to `copy` in the order of tasks.
bool goes_as_it_is(hetero_data& d);
void copy_in_order(hetero_data& from, hetero_data& to);
void write_parcel(hetero_data& to, object_parcel from);
///@}

/// A `hetero_object` in a message. On its way between elements of a PE it is a handle; before it leaves the PE it
/// becomes a parcel.
template <class T>
class hetero_argument {
 public:
  using element_type = T;

  hetero_argument() = default;
  hetero_argument(hetero_object<T> o) : size_(o.size()), exists_(o.exists()), handle_(std::move(o)) {  // NOLINT
    if (exists_) check_sendable(*handle_.data());
  }

  void stay_on_pe() {
    if (!handle_.exists() || goes_as_it_is(*handle_.data())) return;
    hetero_object<T> copy(*handle_.domain(), size_);
    copy_in_order(*handle_.data(), *copy.data());
    handle_ = std::move(copy);
  }
  void leave_pe() {
    if (!handle_.exists()) return;
    parcel_ = object_parcel::of(*handle_.data());
    handle_.release();
  }
  /// On the receiver's PE.
  hetero_object<T> arrive() {
    if (!exists_ || handle_.exists()) return std::move(handle_);
    hetero_object<T> o(size_);
    write_parcel(*o.data(), std::move(parcel_));
    return o;
  }

  std::uint64_t size() const { return size_; }
  /// After `leave_pe`.
  template <class Archive>
  void serialize(Archive& ar) {
    ar & size_ & exists_;
    if (exists_) parcel_.serialize(ar);
  }

 private:
  std::uint64_t size_ = 0;
  bool exists_ = false;
  hetero_object<T> handle_;
  object_parcel parcel_;
};

/// A `hetero_grid` in a message: of a tile a copy goes, with its rows one behind the other.
template <class T>
class hetero_grid_argument {
 public:
  hetero_grid_argument() = default;
  hetero_grid_argument(const hetero_grid<T>& g)  // NOLINT(google-explicit-constructor)
      : extent_(g.extent()), elements_(!g.exists() || g.is_dense() ? g.handle() : g.copy().handle()) {}

  void stay_on_pe() { elements_.stay_on_pe(); }
  void leave_pe() { elements_.leave_pe(); }
  hetero_grid<T> arrive() {
    const hetero_object<T> o = elements_.arrive();
    return o.exists() ? hetero_grid<T>::of(o, extent_) : hetero_grid<T>();
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & extent_.x & extent_.y & extent_.z & elements_;
    if (elements_.size() != 0 && elements_.size() != extent_.x * extent_.y * extent_.z)
      throw comm_error("a grid in a message has another number of elements than its extent says");
  }

 private:
  grid_extent extent_;
  hetero_argument<T> elements_;
};

template <class T>
inline constexpr bool is_hetero_argument = false;
template <class T>
inline constexpr bool is_hetero_argument<hetero_grid_argument<T>> = true;
template <class T>
inline constexpr bool is_hetero_argument<hetero_argument<T>> = true;

/// \name Arguments of an entry method as its message has them
///@{
template <class T>
struct travelling<hetero_object<T>> {
  using type = hetero_argument<T>;
};
template <class T>
struct travelling<hetero_grid<T>> {
  using type = hetero_grid_argument<T>;
};
template <class Args>
struct travelling_tuple;
template <class... A>
struct travelling_tuple<std::tuple<A...>> {
  using type = std::tuple<typename travelling<A>::type...>;
};
template <class Args>
using travelling_args = typename travelling_tuple<Args>::type;

template <class Args>
inline constexpr bool has_hetero_arguments = false;
template <class... A>
inline constexpr bool has_hetero_arguments<std::tuple<A...>> = (is_hetero_argument<A> || ...);
///@}

/// An argument that has come, as the method takes it.
template <class T>
[[gnu::always_inline]] inline decltype(auto) arrived(T& argument) {
  if constexpr (is_hetero_argument<T>) {
    return argument.arrive();
  } else {
    return std::move(argument);
  }
}

template <class Args, class F>
void for_each_hetero_argument(Args& args, F f) {
  if constexpr (has_hetero_arguments<Args>) {
    std::apply(
        [&](auto&... a) {
          const auto one = [&](auto& x) {
            if constexpr (is_hetero_argument<std::remove_cvref_t<decltype(x)>>) f(x);
          };
          (one(a), ...);
        },
        args);
  }
}

/// \name Before a message goes on: to an element of this PE, or to another PE. On the object's PE, or later anywhere.
///@{
template <class Args>
void stay_on_pe(Args& args) {
  for_each_hetero_argument(args, [](auto& a) { a.stay_on_pe(); });
}
template <class Args>
void leave_pe(Args& args) {
  for_each_hetero_argument(args, [](auto& a) { a.leave_pe(); });
}
///@}

/// A result on its way to who waits for it.
template <class Value, class V>
Value departing_result(bool stays, V&& value) {
  Value v(std::forward<V>(value));
  stays ? v.stay_on_pe() : v.leave_pe();
  return v;
}

}  // namespace imbrex::detail
