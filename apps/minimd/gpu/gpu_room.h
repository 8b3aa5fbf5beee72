#pragma once

#include <imbrex/imbrex.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace md {

/// Memory of a GPU that operations may still use, kept until they have finished.
class gpu_retired {
 public:
  template <class T>
  void keep(imbrex::buffer<T>&& b) {
    if (b.size() > 0) kept_.push_back(std::make_shared<imbrex::buffer<T>>(std::move(b)));
  }
  /// When nothing that was enqueued is left to do.
  void release() { kept_.clear(); }

 private:
  std::vector<std::shared_ptr<void>> kept_;
};

/// At least `n` elements in memory of that kind, with room to grow; what was there is lost.
template <class T>
void make_room(imbrex::buffer<T>& b, imbrex::device& d, std::size_t n, gpu_retired& old,
               imbrex::memory_kind kind = imbrex::memory_kind::device) {
  if (n <= b.size()) return;
  const std::size_t more = b.size() == 0 ? 0 : n / 64;
  old.keep(std::move(b));
  b = imbrex::buffer<T>(d, n + more, kind);
}

/// The same; the first `kept` elements go along, in the order of `s`.
template <class T>
void make_room(imbrex::buffer<T>& b, imbrex::stream& s, std::size_t n, std::size_t kept, gpu_retired& old) {
  if (n <= b.size()) return;
  imbrex::buffer<T> larger(s.on(), n + (b.size() == 0 ? 0 : n / 64));
  if (b.size() > 0 && kept > 0) s.copy(larger.data(), b.data(), kept * sizeof(T));
  old.keep(std::move(b));
  b = std::move(larger);
}

/// Deals out memory, piece after piece.
class gpu_pieces {
 public:
  explicit gpu_pieces(char* at) : at_(at) {}

  template <class T>
  T* take(std::size_t n) {
    T* const piece = at_ == nullptr ? nullptr : reinterpret_cast<T*>(at_ + taken_);
    taken_ += (n * sizeof(T) + 255) / 256 * 256;
    return piece;
  }
  /// All pieces together; to know how much is needed, deal out from null first.
  std::size_t taken() const { return taken_; }

 private:
  char* at_;
  std::size_t taken_ = 0;
};

}  // namespace md
