#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/comm/flood_watch.h"
#include "imbrex/comm/loopback/loopback_transport.h"

namespace imbrex {

/// The way from one rank to another: what is on it, and the numbers of each pair of PEs that uses it.
/// Any thread of either rank; one at a time (a lock).
class loopback_network::link {
 public:
  link(rank_id from, rank_id to, const loopback_options& options);
  ~link();

  /// Takes ownership of `m`; it is delivered at once when the destination has started and the link holds nothing.
  void send(wire_message* m);
  /// From now on messages are delivered: those that wait already at once, or by `poll` where the link holds them.
  void start(const delivery& to);
  /// Delivers what is due; true when something was. Throws `comm_error` for a number out of order.
  bool poll();
  /// Ends deliveries and frees what is on the way. Throws `comm_error` when something was lost and not `failed`.
  void stop(bool failed);

 private:
  struct pair {
    std::uint64_t sent = 0;
    std::uint64_t arrived = 0;
    std::int64_t last_due = 0;
  };
  struct held {
    std::int64_t due;
    std::uint64_t turn;    // breaks ties: first in, first out
    std::uint64_t number;  // of the pair
    wire_message* message;
    bool operator<(const held& other) const { return due != other.due ? due > other.due : turn > other.turn; }
  };

  pair& pair_of(const wire_message& m);
  std::int64_t due_time(pair& p);
  void hold(std::int64_t due, std::uint64_t number, wire_message* m);
  void deliver(std::uint64_t number, wire_message* m);
  void deliver_next();

  const rank_id from_;
  const rank_id to_;
  const loopback_options options_;
  const bool holds_;

  std::mutex mutex_;
  flood_watch flood_{"the loopback network"};
  std::atomic<std::uint64_t> num_held_{0};  // written under the lock; read without by `poll`
  bool started_ = false;
  delivery delivery_;
  random_sequence random_;
  std::uint64_t turn_ = 0;
  std::int64_t last_due_ = 0;
  std::vector<held> held_;  // a heap, the next one due in front
  std::unordered_map<std::uint64_t, pair> pairs_;
};

}  // namespace imbrex
