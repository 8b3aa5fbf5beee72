#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/base/element_bytes.h"
#include "imbrex/device/device.h"

namespace imbrex {

namespace detail {
[[noreturn]] void refuse_slice(std::size_t offset, std::size_t count, std::size_t size);
}

/// `size` elements of T at `data`, in memory of kind `kind`; owns nothing.
template <class T>
struct buffer_view {
  T* data = nullptr;
  std::size_t size = 0;
  memory_kind kind = memory_kind::host;

  buffer_view() = default;
  buffer_view(T* d, std::size_t n, memory_kind k) : data(d), size(n), kind(k) {}
  /// Of memory the process allocated itself: host memory.
  buffer_view(std::span<T> s) : data(s.data()), size(s.size()) {}  // NOLINT(google-explicit-constructor)
  template <class U>
    requires std::is_same_v<T, const U>
  buffer_view(std::span<U> s) : data(s.data()), size(s.size()) {}  // NOLINT(google-explicit-constructor)
  template <class U>
    requires std::is_same_v<std::remove_const_t<T>, U>
  buffer_view(std::vector<U>& v) : data(v.data()), size(v.size()) {}  // NOLINT(google-explicit-constructor)
  template <class U>
    requires std::is_same_v<T, const U>
  buffer_view(const std::vector<U>& v) : data(v.data()), size(v.size()) {}  // NOLINT(google-explicit-constructor)
  template <class U>
    requires std::is_same_v<T, const U>
  buffer_view(const buffer_view<U>& v)
      : data(v.data), size(v.size), kind(v.kind) {}  // NOLINT(google-explicit-constructor)

  std::size_t bytes() const { return size * sizeof(T); }
  /// `count` elements from `offset` on. Throws `usage_error` where they are not all in it.
  buffer_view slice(std::size_t offset, std::size_t count) const {
    if (offset > size || count > size - offset) [[unlikely]]
      detail::refuse_slice(offset, count, size);
    return {data + offset, count, kind};
  }
};

/// The kind of memory that `wanted` is on device `d`: `memory_kind::device` is the device's own, which is the host's
/// for the host device. So one source names it for both.
inline memory_kind kind_on(const device& d, memory_kind wanted) {
  return wanted == memory_kind::device ? d.allocates() : wanted;
}

/// Memory of a device for `size` elements, uninitialised; freed with the buffer. No operation on it may be pending
/// then.
template <class T>
class buffer {
  static_assert(std::is_trivially_copyable_v<T>, "imbrex: a device buffer holds trivially copyable elements");

 public:
  buffer() = default;
  /// In the device's own memory. Throws `out_of_memory`.
  buffer(device& d, std::size_t size) : buffer(d, size, d.allocates()) {}
  /// In memory of that kind (`kind_on`): `memory_kind::pinned` is host memory that the device reaches.
  buffer(device& d, std::size_t size, memory_kind kind)
      : device_(&d),
        kind_(kind_on(d, kind)),
        data_(static_cast<T*>(d.allocate(bytes_of(size, sizeof(T)), kind_))),
        size_(size) {}
  buffer(buffer&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        kind_(other.kind_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  buffer& operator=(buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(kind_, other.kind_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~buffer() {
    if (device_ != nullptr) device_->free(data_, size_ * sizeof(T), kind_);
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  memory_kind kind() const { return kind_; }
  device* on() const { return device_; }
  buffer_view<T> view() const { return {data_, size_, kind()}; }
  operator buffer_view<T>() const { return view(); }        // NOLINT(google-explicit-constructor)
  operator buffer_view<const T>() const { return view(); }  // NOLINT(google-explicit-constructor)

  /// The same memory as bytes, and back. `bytes` holds a whole number of elements.
  static buffer<std::byte> into_bytes(buffer&& b) { return buffer<std::byte>(std::move(b)); }
  static buffer from_bytes(buffer<std::byte>&& bytes) { return buffer(std::move(bytes)); }

 private:
  template <class U>
  friend class buffer;
  template <class U>
    requires(!std::is_same_v<T, U>)
  explicit buffer(buffer<U>&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        kind_(other.kind_),
        data_(reinterpret_cast<T*>(std::exchange(other.data_, nullptr))),
        size_(std::exchange(other.size_, 0) * sizeof(U) / sizeof(T)) {}

  device* device_ = nullptr;
  memory_kind kind_ = memory_kind::host;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace imbrex
