#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "imbrex/async/completion.h"
#include "imbrex/device/buffer.h"
#include "imbrex/device/stream.h"

namespace imbrex {

/// A number that kernels of a chare find in each round of `repeat`, as how much its cells have changed. Each group
/// (CUDA: thread block) of a kernel stores its part, which costs next to nothing; what the parts give together is found
/// on the host when somebody looks (`until`), in the order of the groups, and so with the same bits each time. For the
/// PE of the chare. It moves with it, and begins anew on another device and in another process.
template <class T>
class round_value {
  static_assert(std::is_trivially_copyable_v<T>, "imbrex: the parts of a round's value are copied from a device");

 public:
  round_value() = default;
  round_value(round_value&&) noexcept = default;
  round_value& operator=(round_value&&) noexcept = default;

  /// Memory of the stream's device for the parts of one kernel, which is launched in `s` next: one of each of its
  /// groups. The same for every round that asks for as many. What is looked at are the parts of the last round that
  /// has asked, when `s` comes there. Throws `out_of_memory`.
  T* parts(stream& s, std::size_t num_groups) {
    if (!is_on(s.on()) || parts_.size() < num_groups) make_room(s.on(), num_groups);
    stream_ = &s;
    num_parts_ = num_groups;
    return parts_.data();
  }

  template <class Archive>
  void serialize(Archive&) {}

  /// \name For `repeat`
  ///@{
  bool is_asked_for() const { return stream_ != nullptr; }
  std::span<const T> on_device() const { return {parts_.data(), num_parts_}; }
  /// Copies the parts to the host, in the order of the stream. Gives what is set when they are there.
  std::shared_ptr<completion> look() {
    if (on_host_.size() < num_parts_) on_host_ = buffer<T>(stream_->on(), parts_.size(), memory_kind::pinned);
    num_seen_ = num_parts_;
    stream_->copy(on_host_.data(), parts_.data(), num_parts_ * sizeof(T));
    auto there = std::make_shared<completion>();
    stream_->then("look", [there] { there->set(); });
    return there;
  }
  std::span<const T> seen() const { return {on_host_.data(), num_seen_}; }
  ///@}

 private:
  /// Another PE's handle of the same GPU is as good.
  bool is_on(const device& d) const {
    return parts_.on() != nullptr && parts_.on()->kind() == d.kind() && parts_.on()->number() == d.number();
  }
  void make_room(device& d, std::size_t num_groups) {
    if (parts_.on() != nullptr) former_.push_back(std::move(parts_));  // kernels may still store there
    parts_ = buffer<T>(d, num_groups);
  }

  buffer<T> parts_, on_host_;
  std::vector<buffer<T>> former_;
  stream* stream_ = nullptr;
  std::size_t num_parts_ = 0, num_seen_ = 0;
};

}  // namespace imbrex
