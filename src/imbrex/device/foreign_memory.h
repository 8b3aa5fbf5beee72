#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "imbrex/device/buffer.h"

namespace imbrex {

/// Memory that imbrex did not allocate, for `size` elements at `data`: of RMM, cudaMalloc, cudaMallocAsync,
/// cudaMallocManaged, cudaHostAlloc, the host's own. The device is told once; it asks the driver what that is, and from
/// then on its views go wherever those of a `buffer` go (copies, channels, GPU messages, puts and gets), and nobody
/// asks again for each message (Moraru et al. 2021). Owns nothing: what allocated the memory frees it, after this has
/// ended. Nothing may be pending on it when this ends, as with a `buffer`.
///
/// `kind()` is what a channel or `exposed` for it is made with. On a GPU: `device` for what lies in its memory and for
/// managed memory, `pinned` for host memory that CUDA knows, `host` for other; on the host device and devices of OpenCL
/// always `host`, which it must be. A kernel reaches the first two.
///
/// Other processes of the machine read memory of cudaMalloc (2 MiB or more) where it lies, and it should then live
/// until the job ends. Managed memory and that of CUDA's pools go to other processes through pinned memory, whatever
/// `--imbrex-protocol` says. Where a process has several GPUs that reach each other, the pool that the memory is from
/// is told to let them
/// (`cudaMemPoolSetAccess`). Memory of cudaMallocAsync may be told of as soon as that has returned, and used by what is
/// enqueued behind `after_native`.
template <class T>
class foreign_memory {
  static_assert(std::is_trivially_copyable_v<T>, "imbrex: foreign_memory holds trivially copyable elements");

 public:
  foreign_memory() = default;
  /// For the PE of `on`, which outlives this; any number of them may name the same memory. Throws `usage_error` when
  /// the memory is another GPU's, or longer than what was allocated there, or when GPUs of the process cannot reach it.
  foreign_memory(device& on, T* data, std::size_t size)
      : device_(&on), kind_(on.adopt(data, size * sizeof(T))), data_(data), size_(size) {}
  foreign_memory(foreign_memory&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)),
        kind_(other.kind_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  foreign_memory& operator=(foreign_memory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(kind_, other.kind_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~foreign_memory() {
    if (device_ != nullptr) device_->let_go(data_, size_ * sizeof(T));
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  memory_kind kind() const { return kind_; }
  device* on() const { return device_; }
  buffer_view<T> view() const { return {data_, size_, kind_}; }
  operator buffer_view<T>() const { return view(); }  // NOLINT(google-explicit-constructor)
  template <class U = T>
    requires(!std::is_const_v<U>)
  operator buffer_view<const U>() const {  // NOLINT(google-explicit-constructor)
    return view();
  }

 private:
  device* device_ = nullptr;
  memory_kind kind_ = memory_kind::host;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace imbrex
