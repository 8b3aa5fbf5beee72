#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <vector>

#include "imbrex/comm/transfer.h"
#include "imbrex/comm/ucx/ucx_context.h"

namespace imbrex {

/// Memory registered with UCX: large pieces, once. Any thread.
class ucx_memory {
 public:
  explicit ucx_memory(const ucx_context& context) : context_(context) {}
  /// Nothing may be under way any more.
  ~ucx_memory();
  ucx_memory(const ucx_memory&) = delete;
  ucx_memory& operator=(const ucx_memory&) = delete;

  /// Registers a piece, unless one that begins there is. Where UCX cannot, warns and does without: data then travels
  /// more slowly, but does.
  void add(const data_view& piece);
  /// Takes back `add` of the piece that begins there; does nothing where none does.
  void forget(const std::byte* start);
  /// The registration that all of `view` lies in, or null.
  ucp_mem_h find(const data_view& view) const;
  /// What another rank needs to reach `view`, which is registered for it if it is not yet. Throws `comm_error`.
  std::vector<std::byte> pack_key(const data_view& view);

 private:
  struct registration {
    std::uint64_t bytes;
    ucp_mem_h handle;
  };
  ucs_status_t map(const data_view& view);
  ucp_mem_h find_locked(const data_view& view) const;

  const ucx_context& context_;
  mutable std::shared_mutex mutex_;
  std::map<const std::byte*, registration> pieces_;
};

}  // namespace imbrex
