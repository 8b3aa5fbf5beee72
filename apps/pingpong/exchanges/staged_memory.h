#pragma once

#include <memory>
#include <string>

#include "exchanges/exchange.h"

namespace pingpong {

/// A player's messages in the memory of a device, and how the host writes and reads them: by way of pinned memory.
class staged_memory {
 public:
  /// Room for one message to send and for `num_slots` to receive.
  staged_memory(ix::device& d, std::size_t largest, int num_slots, const std::string& owner);

  ix::stream& stream() const { return *stream_; }
  ix::buffer_view<std::byte> out(std::size_t bytes) const { return out_.view().slice(0, bytes); }
  /// Where message `i` of a window goes; when it is large several share a place.
  ix::buffer_view<std::byte> in(std::size_t bytes, int i = 0) const {
    return in_.view().slice(static_cast<std::size_t>(i % num_slots_) * largest_, bytes);
  }

  /// All places of a window, one after the other: how far apart, and how many.
  ix::buffer_view<std::byte> all_in() const { return in_.view(); }
  std::size_t largest() const { return largest_; }
  int num_slots() const { return num_slots_; }

  /// Waits until `out` holds the message of `player` in `round` and `in` none.
  ix::task<> fill(std::size_t bytes, std::uint64_t round, int player);
  /// How many bytes of `in` differ from the message of `player` in `round`.
  ix::task<std::uint64_t> wrong(std::size_t bytes, std::uint64_t round, int player);

  /// How many messages fit into memory of reasonable size.
  static int slots_for(std::size_t largest, int window);

 private:
  std::unique_ptr<ix::stream> stream_;
  const std::size_t largest_;
  const int num_slots_;
  ix::buffer<std::byte> out_, in_, staging_;
};

}  // namespace pingpong
