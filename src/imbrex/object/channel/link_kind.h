#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "imbrex/base/ids.h"
#include "imbrex/comm/data/data_mover.h"

namespace imbrex::detail {

struct channel_link;

/// Between which ports of which chares a channel is, as an end of it says to other processes.
struct link_address {
  std::uint64_t kind = 0;  ///< of the other chare's index
  collection_id array;     ///< of the other chare
  std::vector<std::byte> index;
  std::int32_t port = 0;
  std::int32_t peer_port = 0;

  bool operator==(const link_address&) const = default;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & kind & array & index & port & peer_port;
  }
};

/// The ends of channels to chares with one kind of index. One object each, registered before main: how an end is made
/// again in another process, where only its address says what the index is.
class link_kind {
 public:
  using maker = channel_link* (*)(std::string name, std::uint64_t type, std::uint32_t size, data_mover* mover,
                                  const link_address& a);
  link_kind(std::uint64_t number, maker how);

  std::uint64_t number() const { return number_; }

  /// Throws `usage_error` when this program has no such kind.
  static channel_link* make(std::string name, std::uint64_t type, std::uint32_t size, data_mover* mover,
                            const link_address& a);

 private:
  std::uint64_t number_;
  maker make_;
};

/// A channel is used that is not connected; says why, as far as it can be known.
[[noreturn]] void refuse_unconnected();

}  // namespace imbrex::detail
