#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "imbrex/base/ids.h"
#include "imbrex/device/memory_kind.h"

namespace imbrex {

[[noreturn]] void throw_ucx_error(ucs_status_t status, const char* call, rank_id me, rank_id peer);

/// Throws `comm_error` with UCX's text unless `status` is success. `peer` is the rank on the other side, if any.
inline void ucx_check(ucs_status_t status, const char* call, rank_id me, rank_id peer = -1) {
  if (status != UCS_OK) [[unlikely]]
    throw_ucx_error(status, call, me, peer);
}

/// UCX's name for where memory lies. Given with every operation, so that UCX never asks a driver about a pointer.
constexpr ucs_memory_type_t ucx_memory_type(memory_kind kind) {
  return kind == memory_kind::device ? UCS_MEMORY_TYPE_CUDA : UCS_MEMORY_TYPE_HOST;
}

/// UCX as this process uses it: its configuration and what it found. Workers and registrations are made in it.
///
/// The user's `UCX_...` variables hold. One default is ours: shared memory takes part although endpoints report the
/// failure of their peer (UCX otherwise falls back to TCP, 40 times slower), unless UCX_MM_ERROR_HANDLING says else.
class ucx_context {
 public:
  /// Throws `comm_error` when UCX finds no transport at all.
  ucx_context(rank_id me, int num_ranks, int num_local_ranks);
  ~ucx_context();
  ucx_context(const ucx_context&) = delete;
  ucx_context& operator=(const ucx_context&) = delete;

  ucp_context_h get() const { return context_; }
  rank_id rank() const { return me_; }
  /// Whether this UCX moves data of GPUs.
  bool reaches_gpus() const { return reaches_gpus_; }
  /// "shm (posix, sysv), cma, tcp": what could carry messages on this machine.
  std::string paths() const;

 private:
  ucp_context_h context_ = nullptr;
  rank_id me_;
  bool reaches_gpus_ = false;
};

}  // namespace imbrex
