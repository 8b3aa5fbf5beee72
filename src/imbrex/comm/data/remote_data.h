#pragma once

#include <cstdint>
#include <memory>

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

/// What a message says of its data where they did not come along; empty where they did, as in most: a pointer, since
/// messages are moved some times.
class data_elsewhere {
 public:
  data_elsewhere() = default;
  data_elsewhere(const remote_data& d) : at_(std::make_unique<remote_data>(d)) {}

  explicit operator bool() const { return at_ != nullptr; }
  remote_data::path by() const { return at_ != nullptr ? at_->by : remote_data::path::none; }
  const remote_data& operator*() const { return *at_; }
  const remote_data* operator->() const { return at_.get(); }

  template <class Archive>
  void serialize(Archive& ar) {
    remote_data d;
    if constexpr (Archive::is_loading) {
      ar & d;
      if (d.by != remote_data::path::none) at_ = std::make_unique<remote_data>(d);
    } else {
      ar&(at_ != nullptr ? *at_ : d);
    }
  }

 private:
  std::unique_ptr<remote_data> at_;
};

}  // namespace imbrex
