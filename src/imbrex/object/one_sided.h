#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "imbrex/async/task.h"
#include "imbrex/base/error.h"
#include "imbrex/device/buffer.h"
#include "imbrex/object/proxy.h"
#include "imbrex/pe/scheduler.h"

/// One-sided movement of data (PREMA 3.2.2): a chare exposes memory, host or device; who has a pointer to it puts there
/// and gets from there, without an entry method of the other side.
namespace imbrex {

/// Where exposed bytes are, as any PE of the job may know it. Plain data.
struct global_place {
  pe_id pe = no_pe;
  std::uint64_t exposure = 0;
  std::uint64_t offset = 0;  ///< bytes from the start of what is exposed
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  ///< of the start, in its process
  memory_kind kind = memory_kind::host;
  std::vector<std::byte> key;  ///< for the transport, if it moves such data by itself
  shared_memory memory;        ///< for GPUs of the same machine

  template <class Archive>
  void serialize(Archive& ar) {
    ar & pe & exposure & offset & bytes & address & kind & key & memory;
  }
};

namespace detail {
global_place expose(std::byte* data, std::uint64_t bytes, memory_kind kind, device& on);
void end_exposure(const global_place& p);
task<> put_bytes(global_place to, const std::byte* from, memory_kind kind, stream* s);
task<> get_bytes(global_place from, std::byte* to, memory_kind kind, stream* s);
}  // namespace detail

/// Elements exposed by some chare. Can be sent, copied, cut.
template <class T>
class global_pointer {
 public:
  global_pointer() = default;
  explicit global_pointer(global_place p) : place_(std::move(p)) {}

  std::size_t size() const { return place_.bytes / sizeof(T); }
  /// `count` elements from `offset` on. Throws `usage_error` when they are not all among these.
  global_pointer slice(std::size_t offset, std::size_t count) const {
    if (offset > size() || count > size() - offset)
      throw usage_error(fmt::format("a slice of {} elements from {} on, of {}", count, offset, size()));
    global_place part = place_;
    part.offset += offset * sizeof(T);
    part.bytes = count * sizeof(T);
    return global_pointer(std::move(part));
  }
  const global_place& place() const { return place_; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & place_;
  }

 private:
  global_place place_;
};

/// Lets others put to and get from a chare's memory until it ends. The chare stays on its PE meanwhile.
template <class T>
class exposed {
  static_assert(std::is_trivially_copyable_v<T>, "imbrex: exposed memory holds trivially copyable elements");

 public:
  exposed() = default;
  /// `on` is the device whose memory it is: `on_device()`, or `on_host()` for memory of the host.
  exposed(buffer_view<T> elements, device& on)
      : pointer_(detail::expose(reinterpret_cast<std::byte*>(elements.data), elements.bytes(), elements.kind, on)),
        open_(true),
        tie_(actor_tie::of_acting(scheduler::current())) {}
  exposed(exposed&& other) noexcept
      : pointer_(std::move(other.pointer_)), open_(std::exchange(other.open_, false)), tie_(std::move(other.tie_)) {}
  exposed& operator=(exposed&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(open_, other.open_);
    tie_ = std::move(other.tie_);
    return *this;
  }
  ~exposed() {
    if (open_) detail::end_exposure(pointer_.place());
  }
  const global_pointer<T>& pointer() const { return pointer_; }

 private:
  global_pointer<T> pointer_;
  bool open_ = false;
  actor_tie tie_;
};

/// `co_await put(there, view, s)`: writes the elements as they are when `s` comes to this point. When it returns they
/// are in place, the memory may be written again, and a message sent then finds them there. Any PE; there is no order
/// between several under way. Between GPUs of a machine, and where the transport can, the other PE does nothing for it.
/// Throws `usage_error` when they do not fit, or the memory is exposed no more.
template <class T>
task<> put(global_pointer<T> to, buffer_view<const std::type_identity_t<T>> from, stream& s) {
  if (from.size > to.size()) throw usage_error(fmt::format("a put of {} elements to {}", from.size, to.size()));
  global_place place = to.place();
  place.bytes = from.bytes();
  return detail::put_bytes(std::move(place), reinterpret_cast<const std::byte*>(from.data), from.kind, &s);
}

/// `co_await get(there, view, s)`: reads as many elements as the pointer names, to the front of `view`, after what is
/// enqueued on `s`. When it returns, what is enqueued on `s` sees them.
template <class T>
task<> get(global_pointer<T> from, buffer_view<std::type_identity_t<T>> to, stream& s) {
  if (from.size() > to.size)
    throw usage_error(fmt::format("a get of {} elements to a place of {}", from.size(), to.size));
  return detail::get_bytes(from.place(), reinterpret_cast<std::byte*>(to.data), to.kind, &s);
}

/// `co_await put_and_tell<&block::arrived>(there, view, s, element, arguments...)`: a put, and then, when it is in
/// place, an invocation of that entry method on `element`.
template <auto M, class T, class C, class... A>
task<> put_and_tell(global_pointer<T> to, buffer_view<const std::type_identity_t<T>> from, stream* s,
                    element_proxy<C> element, A... arguments) {
  auto moved = put(std::move(to), from, *s);
  co_await moved;
  element.template send<M>(std::move(arguments)...);
}

}  // namespace imbrex
