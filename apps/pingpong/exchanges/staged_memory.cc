#include "exchanges/staged_memory.h"

#include <algorithm>

#include "pattern.h"

namespace pingpong {

staged_memory::staged_memory(ix::device& d, std::size_t largest, int num_slots, const std::string& owner)
    : stream_(d.make_stream(ix::stream_priority::high, "the stream of " + owner)),
      largest_(largest),
      num_slots_(num_slots),
      out_(d, largest),
      in_(d, largest * static_cast<std::size_t>(num_slots)),
      staging_(d, largest, ix::memory_kind::pinned) {}

ix::task<> staged_memory::fill(std::size_t bytes, std::uint64_t round, int player) {
  fill_pattern(staging_.data(), bytes, round, player);
  stream_->copy(out_.data(), staging_.data(), bytes);
  stream_->fill(in_.data(), 0x5a, bytes);
  co_await stream_->done();
}

ix::task<std::uint64_t> staged_memory::wrong(std::size_t bytes, std::uint64_t round, int player) {
  stream_->copy(staging_.data(), in_.data(), bytes);
  co_await stream_->done();
  co_return count_wrong(staging_.data(), bytes, round, player);
}

int staged_memory::slots_for(std::size_t largest, int window) {
  constexpr std::size_t most = std::size_t{64} << 20;
  return static_cast<int>(std::clamp<std::size_t>(most / largest, 1, static_cast<std::size_t>(std::max(window, 1))));
}

}  // namespace pingpong
