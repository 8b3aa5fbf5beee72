#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <tuple>

#include <fmt/core.h>

#include "imbrex/base/error.h"
#include "imbrex/comm/loopback/loopback_transport.h"

namespace imbrex {

/// Where the ranks of a loopback network hand over data apart from messages: whoever comes second copies it.
/// Any thread.
class loopback_network::desk {
 public:
  enum class side { send, receive };

  void bring(side mine, rank_id from, rank_id to, std::uint64_t id, const data_view& view, transfer* done) {
    const std::lock_guard lock(mutex_);
    const auto [at, first] = waiting_.try_emplace(std::tuple(from, to, id), party{mine, view, done});
    if (first) return;
    const party other = at->second;
    waiting_.erase(at);
    if (other.here == mine || other.view.bytes != view.bytes) {
      throw comm_error(fmt::format(
          "data {} from rank {} to rank {}: {} bytes on one side and {} on the other, or twice the same side", id, from,
          to, other.view.bytes, view.bytes));
    }
    const bool receives = mine == side::receive;
    if (view.bytes > 0)
      std::memcpy((receives ? view : other.view).data, (receives ? other.view : view).data, view.bytes);
    other.done->complete();
    done->complete();
  }

  /// A rank that ends: what it brought and nobody came for is posted, so that its owner can free it.
  void give_up(rank_id rank) {
    const std::lock_guard lock(mutex_);
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const auto [from, to, id] = at->first;
      const bool mine = (at->second.here == side::send ? from : to) == rank;
      if (mine) at->second.done->complete();
      at = mine ? waiting_.erase(at) : std::next(at);
    }
  }

 private:
  struct party {
    side here;
    data_view view;
    transfer* done;
  };
  std::mutex mutex_;
  std::map<std::tuple<rank_id, rank_id, std::uint64_t>, party> waiting_;
};

}  // namespace imbrex
