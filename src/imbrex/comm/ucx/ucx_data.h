#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "imbrex/comm/transfer.h"
#include "imbrex/comm/ucx/ucx_memory.h"
#include "imbrex/comm/ucx/ucx_worker.h"

namespace imbrex {

/// Data apart from messages that one PE sends, receives, puts and gets. Sends and receives are matched by UCX: the tag
/// holds the sender's rank (20 bits) and the id (44 bits). One thread at a time, that of the worker.
///
/// Errors: a transfer whose two sides differ in size, or whose rank is lost, is noted in the worker; it is posted only
/// by `give_up`.
class ucx_data {
 public:
  ucx_data(ucx_worker& worker, const ucx_memory& memory, int num_ranks);
  ~ucx_data();
  ucx_data(const ucx_data&) = delete;
  ucx_data& operator=(const ucx_data&) = delete;

  /// `place` is that of the other PE in the worker's addresses.
  void send(std::size_t place, std::uint64_t id, const data_view& from, transfer* done);
  void recv(rank_id from, std::uint64_t id, const data_view& to, transfer* done);
  void put(std::size_t place, const std::vector<std::byte>& key, std::uint64_t there, const data_view& from,
           transfer* done);
  void get(std::size_t place, const std::vector<std::byte>& key, std::uint64_t there, const data_view& to,
           transfer* done);

  bool idle() const { return first_ == nullptr && num_taken_ == 0; }
  /// Whether all has ended that is no receive.
  bool all_left() const { return num_leaving_ == 0; }
  /// Of all sends to and receives from each rank that were begun, the sum of the mixed ids: a rank sent what the other
  /// received where these are equal.
  const std::vector<std::uint64_t>& sent_ids() const { return sent_ids_; }
  const std::vector<std::uint64_t>& received_ids() const { return received_ids_; }

  /// When no receive is posted any more: takes what others still send, and throws it away.
  void take_unwanted();
  /// Withdraws the receives that nothing matched.
  void cancel_receives();
  /// Once the endpoints are closed: posts every transfer that has not ended well, so that its owner can free it.
  void give_up();
  /// Before the endpoints are closed: forgets the other ranks' memory.
  void forget_keys();

 private:
  enum class kind { send, receive, put, get };
  struct operation;
  struct unwanted;

  operation* begin(kind k, rank_id other, std::uint64_t id, std::uint64_t bytes, transfer* done);
  void end(operation* o, ucs_status_t status);
  void end_receive(operation* o, ucs_status_t status, std::size_t length);
  void note_started(operation* o, void* request);
  ucp_request_param_t describe(const data_view& view, operation* o) const;
  ucp_rkey_h unpack(std::size_t place, const std::vector<std::byte>& key);
  ucx_worker::peer& reach_alive(std::size_t place);
  static void moved(void* request, ucs_status_t status, void* of);
  static void received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* of);
  static void is_taken(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* of);
  static void is_written(void* request, ucs_status_t status, void* of);

  ucx_worker& worker_;
  const ucx_memory& memory_;
  operation* first_ = nullptr;
  std::uint64_t num_leaving_ = 0;
  std::uint64_t num_taken_ = 0;  ///< unwanted data on their way
  std::vector<transfer*> failed_;
  std::vector<std::uint64_t> sent_ids_;
  std::vector<std::uint64_t> received_ids_;
  std::unordered_map<std::string, ucp_rkey_h> keys_;  // by the place of the PE and the packed key
};

}  // namespace imbrex
