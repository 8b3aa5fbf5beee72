#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace imbrex {

/// A cluster as virtual time knows it: equal nodes, their GPUs, and what connects them. Times are microseconds, rates
/// GB/s (10^9 bytes); what each number means, and where those of the known machines come from: docs/virtual-time.md.
/// Rates are what a program reaches, not what a data sheet says.
struct machine {
  std::string name;
  std::string description;

  struct node_part {
    int gpus = 0;
    int cores = 1;
    double shared_us = 0.5;  ///< a message to another process of the node
    double shared_gbs = 10;  ///< its bytes
    int sockets = 1;         ///< processors, among which GPUs and ranks are spread in order
    double socket_gbs = 20;  ///< between two of them, each way: GPUs' copies to peers and ranks' messages share it
  } node;

  struct cpu_part {
    double dispatch_us = 0.1;  ///< a message is taken up, or a coroutine goes on
    double send_us = 0.3;      ///< of the sender's processor, for a message to another process
    double receive_us = 0.3;   ///< of the receiver's
    double transfer_us = 0.3;  ///< to begin the sending, or the receiving, of data
    double slowdown = 1;       ///< of its processors against the one that simulates
  } cpu;

  struct gpu_part {
    std::string name = "a simulated GPU";
    double memory_gb = 16;
    double memory_gbs = 800;          ///< its memory, read and written
    double tflops = 5;                ///< double precision
    double filling_threads = 50'000;  ///< a kernel of fewer uses as much less of the GPU
    /// With both, kernels that compute, and share memory among the threads of a block, go in rounds of as many blocks
    /// as there is such memory for. 0: that is not reckoned with.
    int multiprocessors = 0;
    double shared_kb = 0;      ///< of each of them
    double kernel_us = 2;      ///< a kernel takes at least, once it has begun
    double start_us = 1.5;     ///< from a launch until an idle GPU begins
    double launch_us = 3;      ///< of the host, for a kernel
    double copy_us = 2.5;      ///< of the host, for a copy
    double event_us = 0.5;     ///< of the host, to record one, or to have a stream wait for one
    double copy_start_us = 1;  ///< a copy takes at least
    double host_gbs = 12;      ///< to, and from, pinned memory of the host
    double peer_gbs = 40;      ///< to, and from, another GPU of the node
    double peer_us = 2;
    double bus_gbs = 0;          ///< of what all GPUs of a socket share to the host and to peers, each way; 0: nothing
    double peer_event_us = 2;    ///< until a stream of another GPU knows of an event
    double graph_launch_us = 5;  ///< of the host, for a graph
    double graph_node_us = 1;    ///< a kernel in a graph takes at least
    /// Until a PE knows that something has ended, by what it asks (`--imbrex-completion`), and what it pays for that.
    double flag_us = 1, event_query_us = 2, callback_us = 30, sync_us = 5;
  } gpu;

  struct network_part {
    double latency_us = 1.5;         ///< of a small message, from network card to network card
    double gbs = 12;                 ///< of one card, each way
    int cards = 1;                   ///< of a node; a process uses the one nearest to it
    double message_us = 0.1;         ///< a card sends, or takes, one after the other, each for at least
    double rendezvous_bytes = 8192;  ///< what is larger waits until the receiver is there
    bool gpu_direct = true;          ///< takes the memory of GPUs
    double gpu_latency_us = 1.5;     ///< more, where it does, for each end that is one
    double gpu_gbs = 10;             ///< then
  } network;

  struct tree_part {
    int nodes_of_leaf = 0;     ///< 0: one switch connects all
    double links_of_leaf = 0;  ///< up, of a card's rate each; 0: as many as there are cards below
    bool adaptive = true;  ///< messages take the link that is free first; else one that follows from who talks to whom
  } tree;

  struct noise_part {
    double kernel = 0;  ///< standard deviation of the logarithm
    double latency = 0;
  } noise;

  /// A kernel that is told of by its name, where the program does not say what it costs (`stream::expect`).
  struct kernel_facts {
    double us = 0;  ///< what it takes alone, whatever its size
    double bytes_of_thread = 0;
    double flops_of_thread = 0;
    double efficiency = 1;  ///< of the memory's rate
  };
  std::map<std::string, kernel_facts, std::less<>> kernels;
};

/// The machines that imbrex knows by name.
std::vector<std::string> known_machines();

/// As TOML: one of these, or what a file has. Throws `config_error` for what is not there.
std::string text_of_machine(const std::string& name_or_file);

/// One of these, or that of a file. Throws `config_error` for what is not there, is no TOML, has a part or a number
/// that no machine has, or a number that cannot be; `not_built` where imbrex was built without toml++.
machine read_machine(const std::string& name_or_file);

/// The text of a known one. Throws `config_error`.
std::string text_of_known_machine(const std::string& name);

}  // namespace imbrex
