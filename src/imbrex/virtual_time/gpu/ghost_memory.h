#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "imbrex/device/memory_kind.h"

namespace imbrex {

/// Memory of simulated GPUs, and what their hosts pin: with bytes, or, since a cluster's does not fit into the machine
/// that simulates it, addresses alone. Memory of a GPU without bytes cannot be touched; pinned memory reads as zeros,
/// and what the host writes there takes room. Knows of each address whose it is. On one thread.
class ghost_memory {
 public:
  /// Without bytes it reserves addresses for them: 32 TiB, or what there is (some checkers leave less). Throws
  /// `out_of_memory` where the system refuses that.
  explicit ghost_memory(bool has_bytes);
  ~ghost_memory();
  ghost_memory(const ghost_memory&) = delete;
  ghost_memory& operator=(const ghost_memory&) = delete;

  bool has_bytes() const { return has_bytes_; }

  /// Whose a piece is: a GPU's of a node, or pinned.
  struct owner {
    memory_kind kind = memory_kind::host;
    int node = 0;
    int gpu = -1;
  };
  /// Null where there is no room.
  void* get(std::size_t bytes, const owner& whose);
  void give(void* memory, std::size_t bytes);

  /// Whether it is memory of this without bytes.
  bool contains(const void* memory) const {
    return !has_bytes_ && memory >= start_ && memory < static_cast<const std::byte*>(start_) + reserved_;
  }
  /// `host` for what lies elsewhere.
  owner of(const void* memory) const;
  /// Both are memory of the same GPU of a node.
  bool is_within_one_gpu(const void* a, const void* b) const;

 private:
  struct piece {
    std::size_t bytes;
    owner whose;
  };

  const bool has_bytes_;
  void* start_ = nullptr;
  std::size_t reserved_ = 0;
  std::size_t used_ = 0;
  std::map<std::size_t, std::vector<void*>> given_back_;  // by size
  std::map<std::uintptr_t, piece> pieces_;
};

}  // namespace imbrex
