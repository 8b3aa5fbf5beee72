#pragma once

#include "imbrex/virtual_time/machine/machine.h"

namespace imbrex::detail {

/// Calls `part(name, fields)` for each part of a machine, where `fields(f)` calls `f(name, value, least)` for each of
/// its numbers and texts, in the order of docs/virtual-time.md. What reads, writes and checks machines goes by this.
template <class M, class Visit>
void visit_parts(M& m, Visit part) {
  part("node", [&](auto f) {
    f("gpus", m.node.gpus, 0);
    f("cores", m.node.cores, 1);
    f("shared_us", m.node.shared_us, 0);
    f("shared_gbs", m.node.shared_gbs, 1e-6);
    f("sockets", m.node.sockets, 1);
    f("socket_gbs", m.node.socket_gbs, 1e-6);
  });
  part("cpu", [&](auto f) {
    f("dispatch_us", m.cpu.dispatch_us, 0);
    f("send_us", m.cpu.send_us, 0);
    f("receive_us", m.cpu.receive_us, 0);
    f("transfer_us", m.cpu.transfer_us, 0);
    f("slowdown", m.cpu.slowdown, 1e-6);
  });
  part("gpu", [&](auto f) {
    f("name", m.gpu.name, 0);
    f("memory_gb", m.gpu.memory_gb, 1e-6);
    f("memory_gbs", m.gpu.memory_gbs, 1e-6);
    f("tflops", m.gpu.tflops, 1e-6);
    f("filling_threads", m.gpu.filling_threads, 1);
    f("multiprocessors", m.gpu.multiprocessors, 0);
    f("shared_kb", m.gpu.shared_kb, 0);
    f("kernel_us", m.gpu.kernel_us, 0);
    f("start_us", m.gpu.start_us, 0);
    f("launch_us", m.gpu.launch_us, 0);
    f("copy_us", m.gpu.copy_us, 0);
    f("event_us", m.gpu.event_us, 0);
    f("copy_start_us", m.gpu.copy_start_us, 0);
    f("host_gbs", m.gpu.host_gbs, 1e-6);
    f("peer_gbs", m.gpu.peer_gbs, 1e-6);
    f("peer_us", m.gpu.peer_us, 0);
    f("bus_gbs", m.gpu.bus_gbs, 0);
    f("peer_event_us", m.gpu.peer_event_us, 0);
    f("graph_launch_us", m.gpu.graph_launch_us, 0);
    f("graph_node_us", m.gpu.graph_node_us, 0);
    f("flag_us", m.gpu.flag_us, 0);
    f("event_query_us", m.gpu.event_query_us, 0);
    f("callback_us", m.gpu.callback_us, 0);
    f("sync_us", m.gpu.sync_us, 0);
  });
  part("network", [&](auto f) {
    f("latency_us", m.network.latency_us, 0);
    f("gbs", m.network.gbs, 1e-6);
    f("cards", m.network.cards, 1);
    f("message_us", m.network.message_us, 0);
    f("rendezvous_bytes", m.network.rendezvous_bytes, 0);
    f("gpu_direct", m.network.gpu_direct, 0);
    f("gpu_latency_us", m.network.gpu_latency_us, 0);
    f("gpu_gbs", m.network.gpu_gbs, 1e-6);
  });
  part("tree", [&](auto f) {
    f("nodes_of_leaf", m.tree.nodes_of_leaf, 0);
    f("links_of_leaf", m.tree.links_of_leaf, 0);
    f("adaptive", m.tree.adaptive, 0);
  });
  part("noise", [&](auto f) {
    f("kernel", m.noise.kernel, 0);
    f("latency", m.noise.latency, 0);
  });
}

template <class Visit>
void visit_kernel(machine::kernel_facts& k, Visit f) {
  f("us", k.us, 0);
  f("bytes_of_thread", k.bytes_of_thread, 0);
  f("flops_of_thread", k.flops_of_thread, 0);
  f("efficiency", k.efficiency, 1e-6);
}

}  // namespace imbrex::detail
