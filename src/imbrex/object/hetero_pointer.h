#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "imbrex/async/task.h"
#include "imbrex/base/error.h"
#include "imbrex/hetero/submission/hetero_object.h"
#include "imbrex/object/proxy.h"

/// Puts and gets between objects of different PEs by global pointers (PREMA 3.2.2): a chare exposes an object, and who
/// has the pointer overwrites it or reads it, without an entry method of the other side. Both take their place among
/// the tasks of either object, as a message with the object would.
namespace imbrex {

/// An object, as any PE of the job may know it. Plain data.
struct global_object {
  pe_id pe = no_pe;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & pe & number & bytes;
  }
};

namespace detail {
global_object expose(hetero_data& d);
task<> put_object(global_object to, hetero_data* from);
task<> get_object(global_object from, hetero_data* to);
void check_sizes(const char* what, std::size_t theirs, std::size_t ours);
}  // namespace detail

/// A pointer to an exposed object. Can be sent and copied; it does not keep the object alive.
template <class T>
class hetero_pointer {
 public:
  hetero_pointer() = default;
  explicit hetero_pointer(const global_object& o) : object_(o) {}

  std::size_t size() const { return object_.bytes / sizeof(T); }
  const global_object& object() const { return object_; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & object_;
  }

 private:
  global_object object_;
};

/// A pointer to an object of this PE, valid as long as a handle, task or view of it is left.
template <class T>
hetero_pointer<T> expose(const hetero_object<T>& o) {
  static_cast<void>(o.domain());  // throws when it is empty
  return hetero_pointer<T>(detail::expose(*o.data()));
}

/// `co_await put(there, obj)`: overwrites the object there with what `obj` holds after the tasks submitted so far. When
/// it returns the data are in place. Tasks that the other side submitted before it came see the old data and those
/// after it the new; tasks of this side that write `obj` wait until it has been read. Two objects put into each other
/// at the same time wait for each other for ever. Throws what made the data fail (then the object there is poisoned
/// with it, too), and `usage_error` when the sizes differ or the object there has ended.
template <class T>
task<> put(hetero_pointer<T> to, hetero_object<T> from) {
  detail::check_sizes("put", to.size(), from.size());
  if (to.object().pe == no_pe) throw usage_error("a put by a pointer to nothing: make it with imbrex::expose");
  static_cast<void>(from.domain());
  auto moved = detail::put_object(to.object(), from.data());
  co_await moved;
}

/// `co_await get(there, obj)`: overwrites `obj` with what the object there holds after the tasks that its side has
/// submitted when the request comes. Tasks on `obj` submitted from now on see the new data; throws as `put` does, and
/// `obj` is poisoned with the error.
template <class T>
task<> get(hetero_pointer<T> from, hetero_object<T> to) {
  detail::check_sizes("get", from.size(), to.size());
  if (from.object().pe == no_pe) throw usage_error("a get by a pointer to nothing: make it with imbrex::expose");
  static_cast<void>(to.domain());
  auto moved = detail::get_object(from.object(), to.data());
  co_await moved;
}

/// `co_await put_and_tell<&block::arrived>(there, obj, element, arguments...)`: a put, and then, when it is in place,
/// an invocation of that entry method on `element`.
template <auto M, class T, class C, class... A>
task<> put_and_tell(hetero_pointer<T> to, hetero_object<T> from, element_proxy<C> element, A... arguments) {
  auto moved = put(to, std::move(from));
  co_await moved;
  element.template send<M>(std::move(arguments)...);
}

}  // namespace imbrex
