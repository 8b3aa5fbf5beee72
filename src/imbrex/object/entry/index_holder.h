#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

namespace imbrex::detail {

/// An index of a type that only its users know, so that proxies can be members of classes before the class they speak
/// of is complete. Small trivially copyable indices, as all of the runtime's are, lie inside; others are shared.
class index_holder {
 public:
  index_holder() = default;
  template <class Index>
  static index_holder of(Index i) {
    index_holder h;
    if constexpr (is_inside<Index>) {
      std::memcpy(h.bytes_, &i, sizeof i);
    } else {
      h.shared_ = new shared_index<Index>(std::move(i));
    }
    return h;
  }
  index_holder(const index_holder& other) noexcept : shared_(other.shared_) {
    std::memcpy(bytes_, other.bytes_, sizeof bytes_);
    if (shared_ != nullptr) shared_->uses.fetch_add(1, std::memory_order_relaxed);
  }
  index_holder(index_holder&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {
    std::memcpy(bytes_, other.bytes_, sizeof bytes_);
  }
  index_holder& operator=(index_holder other) noexcept {
    std::swap(shared_, other.shared_);
    std::memcpy(bytes_, other.bytes_, sizeof bytes_);
    return *this;
  }
  [[gnu::always_inline]] ~index_holder() {
    if (shared_ != nullptr) [[unlikely]]
      let_go(shared_);
  }

  /// The index, which must be of the type it was made of; a default one when it was made of none.
  template <class Index>
  decltype(auto) get() const {
    if constexpr (is_inside<Index>) {
      Index i;
      std::memcpy(&i, bytes_, sizeof i);
      return i;
    } else {
      static const Index none{};
      return shared_ != nullptr ? (static_cast<const shared_index<Index>*>(shared_)->index) : (none);
    }
  }

 private:
  static constexpr std::size_t size = 16;
  template <class Index>
  static constexpr bool is_inside = sizeof(Index) <= size && alignof(Index) <= 8 && std::is_trivially_copyable_v<Index>;

  struct shared_base {
    virtual ~shared_base() = default;
    std::atomic<long> uses{1};
  };
  template <class Index>
  struct shared_index final : shared_base {
    explicit shared_index(Index i) : index(std::move(i)) {}
    const Index index;
  };

  [[gnu::noinline]] static void let_go(shared_base* shared) {
    if (shared->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared;
  }

  alignas(8) std::byte bytes_[size] = {};
  shared_base* shared_ = nullptr;
};

}  // namespace imbrex::detail
