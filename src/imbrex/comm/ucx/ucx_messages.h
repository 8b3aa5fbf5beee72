#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <vector>

#include "imbrex/comm/flood_watch.h"
#include "imbrex/comm/transport.h"
#include "imbrex/comm/ucx/ucx_order.h"
#include "imbrex/comm/ucx/ucx_worker.h"

namespace imbrex {

/// The messages that one PE sends and gets, as UCX active messages: the wire header is theirs, the payload their data.
/// UCX sends small ones at once and lets the receiver fetch large ones; either way the message is made here and filled
/// once. One thread at a time, that of the worker.
class ucx_messages {
 public:
  /// Takes what arrives at `worker` for PE `pe`, one of those of `to`.
  ucx_messages(ucx_worker& worker, const delivery& to, pe_id pe, int num_ranks);
  ucx_messages(const ucx_messages&) = delete;
  ucx_messages& operator=(const ucx_messages&) = delete;

  /// Sends `m`, which is for a PE of another rank, and takes it. A failure is noted in the worker.
  void send(wire_message* m);
  /// Frees what arrives from now on, instead of delivering it.
  void discard_from_now() { discarding_ = true; }

  /// Messages that were sent and have not left yet, and large ones whose payload is being fetched.
  std::uint64_t num_under_way() const { return num_under_way_; }
  /// Messages sent to each rank; received from each, whole.
  const std::vector<std::uint64_t>& num_sent() const { return num_sent_; }
  const std::vector<std::uint64_t>& num_received() const { return num_received_; }

 private:
  static void has_left(void* request, ucs_status_t status, void* of);
  static ucs_status_t arrived(void* of, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                              const ucp_am_recv_param_t* how);
  static void is_fetched(void* request, ucs_status_t status, std::size_t bytes, void* of);
  void take(const wire_header& h, void* data, bool must_fetch);
  void fetch(wire_message* m, void* description);
  void hand_over(wire_message* m);
  void deliver(wire_message* m);
  std::size_t rank_of(pe_id pe) const { return static_cast<std::size_t>(pe) / delivery_.pes.size(); }

  ucx_worker& worker_;
  const delivery& delivery_;
  const pe_id pe_;
  bool discarding_ = false;
  std::uint64_t num_under_way_ = 0;
  flood_watch flood_{"UCX"};
  std::vector<std::uint64_t> num_sent_;
  std::vector<std::uint64_t> num_received_;
  std::vector<ucx_order> from_;
};

}  // namespace imbrex
