#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/comm/transport.h"

namespace imbrex {

/// A mistake that a loopback network makes on purpose, so that tests can see it noticed.
enum class loopback_fault { none, drop, duplicate, swap };

/// How a loopback network treats messages. By default it delivers at once, inside `send`.
struct loopback_options {
  std::uint64_t seed = 1;         ///< of the random delays
  std::int64_t max_delay_us = 0;  ///< each message is held for a random time up to this
  bool reorder = false;           ///< messages between different pairs of PEs may overtake each other; needs a delay
  loopback_fault fault = loopback_fault::none;
  std::uint64_t fault_every = 0;  ///< every so many messages from one PE to another, that one suffers the fault
  rank_id lost = -1;              ///< this rank is lost: nothing more comes from it or to it; negative: none is
  std::uint64_t lost_after = 0;   ///< when so many messages between ranks have been sent
  bool can_go_on = false;         ///< a loss is a `rank_lost`, else a `comm_error`
};

/// What connects the ranks of a job that live in one process, for tests. Constructed once, shared by one
/// `loopback_transport` per rank. Each message from one PE to another carries a number, checked when it arrives.
class loopback_network {
 public:
  /// Throws `usage_error` when the options contradict each other.
  explicit loopback_network(int num_ranks, const loopback_options& options = {});
  ~loopback_network();
  loopback_network(const loopback_network&) = delete;
  loopback_network& operator=(const loopback_network&) = delete;

  int num_ranks() const { return num_ranks_; }
  /// Who has been lost; negative: nobody.
  rank_id lost_rank() const { return is_lost_.load(std::memory_order_acquire) ? options_.lost : -1; }

 private:
  friend class loopback_transport;
  class link;
  class meeting;
  class desk;

  /// Made with its first use.
  link& between(rank_id from, rank_id to);
  /// All that have been used.
  void for_each_link_to(rank_id to, const std::function<void(link&)>& f);
  void start(rank_id to, const delivery& d);

  /// Whether a message is not sent any more, since one of both ranks is lost.
  bool is_cut_off(rank_id from, rank_id to);

  struct destination;

  int num_ranks_;
  bool holds_;
  std::atomic<std::uint64_t> num_messages_{0};  // counted where one is to be lost
  std::atomic<bool> is_lost_{false};
  const loopback_options options_;
  std::vector<std::atomic<link*>> links_;  // from each rank to each; null: not used yet
  std::vector<destination> destinations_;
  std::unique_ptr<meeting> meeting_;
  std::unique_ptr<desk> desk_;
};

/// One rank's end of a loopback network. `send` copies header and payload, as a network would; the copy is allocated
/// on the sender's thread and goes straight to the destination's inbox, or, where the network holds messages (a delay
/// or a fault was asked for), is delivered by the destination's `poll` when its time has come.
///
/// Order: between a pair of PEs as sent; all messages of a pair of ranks as sent unless `reorder`.
/// Errors: a message lost, duplicated or out of order within a pair of PEs makes the `poll` that delivers the next one
/// throw `comm_error`, and `stop` when nothing followed it and no rank failed. Once a rank is lost every `poll` throws,
/// that of the lost one, too.
/// Lifetime: a sender's slab must live until the receiver has freed the copies: after `stop`, every rank gives back
/// what its executors still hold, and all meet once more in `all_gather`, before any slab goes.
class loopback_transport : public transport {
 public:
  /// Throws `usage_error` when the network has no such rank.
  loopback_transport(std::shared_ptr<loopback_network> network, rank_id rank);

  rank_id rank() const override { return rank_; }
  int num_ranks() const override { return network_->num_ranks(); }
  std::string name() const override { return "loopback"; }
  bool shares_process() const override { return true; }
  void start(const delivery& to) override;
  void send(rank_id to, wire_message* m) override;
  void send_data(rank_id to, pe_id to_pe, std::uint64_t id, const data_view& from, transfer* done) override;
  void recv_data(rank_id from, std::uint64_t id, const data_view& to, transfer* done) override;
  bool poll() override;
  bool needs_polling() const override { return network_->holds_ || network_->options_.lost >= 0; }
  job_end stop(const job_end& mine) override;
  std::vector<std::vector<std::byte>> all_gather(const std::vector<std::byte>& mine) override;
  void collect(std::vector<std::byte> mine, const std::function<void(std::vector<std::byte>)>& take) override;
  [[noreturn]] void abort(int exit_code) override;

 private:
  std::shared_ptr<loopback_network> network_;
  rank_id rank_;
};

}  // namespace imbrex
