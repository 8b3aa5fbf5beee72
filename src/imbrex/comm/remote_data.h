#pragma once

#include <cstdint>

#include "imbrex/base/ids.h"
#include "imbrex/device/shared_memory.h"

namespace imbrex {

/// The data of a message that has come from another process without them: how to get hold of them.
struct remote_data {
  enum class path {
    none,    ///< there are none: what there is travels in the message
    whole,   ///< by the transport, straight from the sender's memory
    chunks,  ///< by the transport, piece by piece, from the sender's pinned memory
    shared,  ///< they are read where they are, in the memory of a GPU of this machine
  };

  path by = path::none;
  rank_id rank = -1;  ///< whose they are
  pe_id pe = no_pe;
  std::uint64_t id = 0;  ///< of `transport::send_data`; of the first chunk, the others' follow
  std::uint64_t bytes = 0;
  std::uint64_t chunk_bytes = 0;
  shared_memory memory;  ///< with `shared`; with the others, when a GPU of the machine may read them instead

  std::uint64_t num_chunks() const { return by == path::chunks ? (bytes + chunk_bytes - 1) / chunk_bytes : 1; }

  shared_point ready;  ///< with `shared`: the data are there after it; none: they are there

  template <class Archive>
  void serialize(Archive& ar) {
    ar & by;
    if (by == path::none) return;
    ar & rank & pe & id & bytes & chunk_bytes & memory & ready;
  }
};

}  // namespace imbrex
