#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "imbrex/comm/transport.h"
#include "imbrex/virtual_time/core/fiber.h"
#include "imbrex/virtual_time/core/simulation.h"
#include "imbrex/virtual_time/gpu/ghost_memory.h"
#include "imbrex/virtual_time/machine/network_model.h"

namespace imbrex {

/// What connects the ranks of a job in virtual time, all in this process and on one thread. Shared by their transports.
class simulated_network {
 public:
  simulated_network(simulation& all, network_model& model, fibers& ranks, const ghost_memory& ghosts)
      : all_(all), model_(model), ranks_(ranks), ghosts_(ghosts), deliveries_(num_ranks()), meeting_(num_ranks()) {}
  ~simulated_network();

  std::size_t num_ranks() const { return static_cast<std::size_t>(model_.shape().num_ranks); }
  const network_model& model() const { return model_; }
  std::uint64_t num_messages() const { return num_messages_; }
  std::uint64_t num_bytes() const { return num_bytes_; }

 private:
  friend class simulated_transport;
  struct flight;
  struct data_flight;
  struct data_end {
    rank_id rank = 0;
    data_view view;
    transfer* done = nullptr;
    std::int64_t since = 0;
  };
  /// Who came first to a meeting of a `send_data` and a `recv_data`.
  struct party {
    bool sends = false;
    data_end who;
    data_flight* set_out = nullptr;  // a sender's that did not wait: it is under way, or has arrived
  };
  struct data_key {
    rank_id from, to;
    std::uint64_t id;
    bool operator==(const data_key&) const = default;
  };
  struct hash_key {
    std::size_t operator()(const data_key& k) const {
      return mix(k.id ^ mix((static_cast<std::uint64_t>(k.from) << 32) | static_cast<std::uint64_t>(k.to)));
    }
  };

  void set_out(wire_message* m, rank_id from, rank_id to);
  void send(const data_key& k, const data_end& from);
  void receive(const data_key& k, const data_end& to);
  void set_out_unasked(const data_key& k, const data_end& from);
  void take(data_flight& f, const data_end& to);
  void meet(const data_end& from, const data_end& to);
  void complete(transfer* done);
  void complete_at(std::int64_t when, transfer* done);
  bool have_bytes(const data_view& a, const data_view& b) const;
  void give_up(rank_id rank);
  const std::vector<std::vector<std::byte>>& gather(rank_id mine, std::vector<std::byte> bytes);
  static network_model::end place_of(const data_end& e) { return {e.rank, e.view.kind, e.view.gpu}; }

  struct meeting {
    explicit meeting(std::size_t n) : coming(n) {}
    std::vector<std::vector<std::byte>> coming, met;
    std::size_t num_coming = 0, num_left = 0;
    std::uint64_t number = 0;
  };

  simulation& all_;
  network_model& model_;
  fibers& ranks_;
  const ghost_memory& ghosts_;
  std::vector<delivery> deliveries_;
  meeting meeting_;
  std::unordered_map<data_key, party, hash_key> waiting_;
  /// Of a pair of PEs: their messages do not overtake each other.
  struct pair_of_pes {
    std::int64_t set_out = 0, arrives = 0;
  };
  pair_of_pes& pair_of(const wire_message& m);
  std::unordered_map<std::uint64_t, pair_of_pes> pairs_;
  std::uint64_t num_messages_ = 0, num_bytes_ = 0;
};

/// One rank's end of it. Messages and data take their virtual time; what is there when they arrive is copied as by a
/// network, unless it lies in memory that has no bytes.
class simulated_transport final : public transport {
 public:
  simulated_transport(simulated_network& network, rank_id rank) : network_(network), rank_(rank) {}

  rank_id rank() const override { return rank_; }
  int num_ranks() const override { return static_cast<int>(network_.num_ranks()); }
  int num_local_ranks() const override;
  int local_rank() const override { return network_.model().shape().place_in_node(rank_); }
  std::string name() const override { return "simulated"; }
  bool shares_process() const override { return true; }
  std::string simulated_host() const override;
  void start(const delivery& to) override;
  void send(rank_id to, wire_message* m) override;
  bool poll() override { return false; }
  bool needs_polling() const override { return false; }
  bool reaches(memory_kind kind) const override;
  void send_data(rank_id to, pe_id to_pe, std::uint64_t id, const data_view& from, transfer* done) override;
  void recv_data(rank_id from, std::uint64_t id, const data_view& to, transfer* done) override;
  job_end stop(const job_end& mine) override;
  std::vector<std::vector<std::byte>> all_gather(const std::vector<std::byte>& mine) override;
  void collect(std::vector<std::byte> mine, const std::function<void(std::vector<std::byte>)>& take) override;
  [[noreturn]] void abort(int exit_code) override;

 private:
  simulated_network& network_;
  rank_id rank_;
};

}  // namespace imbrex
