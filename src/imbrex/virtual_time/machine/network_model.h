#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "imbrex/base/ids.h"
#include "imbrex/device/memory_kind.h"
#include "imbrex/virtual_time/core/simulation.h"
#include "imbrex/virtual_time/machine/machine.h"
#include "imbrex/virtual_time/machine/shared_line.h"

namespace imbrex {

/// Which ranks a job on a simulated machine has, and where they are.
struct job_shape {
  int num_ranks = 1;
  int ranks_per_node = 1;
  int gpus_per_rank = 0;  ///< that a rank drives

  int node_of(rank_id r) const { return r / ranks_per_node; }
  int place_in_node(rank_id r) const { return r % ranks_per_node; }
  int num_nodes() const { return (num_ranks + ranks_per_node - 1) / ranks_per_node; }
};

/// What connects the ranks: how long bytes take from one to another, and who waits for whom at cards, links and GPUs. A
/// transfer takes each line on its way for the time that its bytes take there, from when that is free: the model of
/// LogGP, with a gap for each line (Alexandrov et al. 1995).
class network_model {
 public:
  network_model(const machine& m, const job_shape& shape, simulation& all);

  /// One end of a transfer.
  struct end {
    rank_id rank = 0;
    memory_kind kind = memory_kind::host;
    int gpu = -1;  ///< of its node, with `device`
  };
  struct passage {
    std::int64_t left = 0;     ///< when the sender's memory has been read
    std::int64_t arrived = 0;  ///< when the last byte is there
  };

  /// Bytes that set out now: takes the lines. In the order of virtual time.
  passage send(const end& from, const end& to, std::uint64_t bytes);
  /// For a word of the runtime's or the network's own, which takes no lines.
  std::int64_t word_ns(rank_id from, rank_id to) const;
  bool waits_for_receiver(std::uint64_t bytes) const {
    return static_cast<double>(bytes) > m_.network.rendezvous_bytes;
  }

  /// A copy between two GPUs of a node, from now. GPUs are numbered as their node counts them.
  passage copy_to_peer(int node, int from, int to, std::uint64_t bytes);
  /// A copy between a GPU and its host, from now: when the last byte is there.
  std::int64_t copy_with_host(int node, int gpu, bool to_gpu, std::uint64_t bytes);

  const job_shape& shape() const { return shape_; }
  const machine& description() const { return m_; }

 private:
  struct socket_lines {
    shared_line bus_up, bus_down;       // of its GPUs together: from them, and to them
    std::vector<shared_line> to_other;  // to each other processor
  };
  struct node_lines {
    std::vector<shared_line> out, in;  // of its cards
    std::vector<shared_line> memory;   // of its ranks: what comes by way of the node's memory
    std::vector<socket_lines> sockets;
  };
  /// To its host and back, and to its peers and from them.
  struct gpu_lines {
    shared_line to_host, from_host, out, in;
  };
  gpu_lines& lines_of(int node, int gpu) { return gpus_[static_cast<std::size_t>(node * gpus_per_node_ + gpu)]; }
  /// Of the node's so many GPUs, or ranks, the one with this number.
  int socket_of(int number, int of) const { return number * m_.node.sockets / std::max(of, 1); }
  socket_lines& socket(int node, int number) {
    return nodes_[static_cast<std::size_t>(node)].sockets[static_cast<std::size_t>(number)];
  }
  /// Between two processors; null where they are one.
  shared_line* between_sockets(int node, int from, int to);
  struct leaf_lines {
    std::vector<shared_line> up, down;
  };

  passage within_node(const end& from, const end& to, std::uint64_t bytes);
  passage between_nodes(const end& from, const end& to, std::uint64_t bytes);
  shared_line& choose(std::vector<shared_line>& links, int from_node, int to_node) const;
  std::int64_t latency(double us);

  const machine& m_;
  const job_shape shape_;
  const int gpus_per_node_;
  simulation& all_;
  std::vector<node_lines> nodes_;
  std::vector<leaf_lines> leaves_;
  std::vector<gpu_lines> gpus_;
};

/// Nanoseconds of so many bytes at so many GB/s.
inline std::int64_t ns_of(std::uint64_t bytes, double gbs) {
  return static_cast<std::int64_t>(static_cast<double>(bytes) / gbs + 0.5);
}
inline std::int64_t ns_of_us(double us) { return static_cast<std::int64_t>(us * 1000 + 0.5); }

}  // namespace imbrex
