#include "imbrex/virtual_time/machine/network_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

namespace imbrex {

namespace {
/// What a transfer takes of a line; null: there is none on its way.
struct use_of_line {
  shared_line* line;
  std::int64_t ns;
};

/// Takes all of them from the same moment on, the first at which each is free; that moment.
std::int64_t take(std::int64_t earliest, std::int64_t now, std::initializer_list<use_of_line> uses) {
  std::int64_t begin = earliest;
  for (bool again = true; again;) {
    again = false;
    for (const use_of_line& u : uses) {
      const std::int64_t at = u.line != nullptr && u.ns > 0 ? u.line->free_at(begin, u.ns) : begin;
      again = again || at != begin;
      begin = at;
    }
  }
  for (const use_of_line& u : uses) {
    if (u.line != nullptr) u.line->use(begin, u.ns, now);
  }
  return begin;
}
}  // namespace

network_model::network_model(const machine& m, const job_shape& shape, simulation& all)
    : m_(m),
      shape_(shape),
      gpus_per_node_(std::max(m.node.gpus, shape.ranks_per_node * shape.gpus_per_rank)),
      all_(all) {
  const auto nodes = static_cast<std::size_t>(shape.num_nodes());
  const auto cards = static_cast<std::size_t>(m.network.cards);
  nodes_.resize(nodes);
  for (node_lines& n : nodes_) {
    n.out.resize(cards);
    n.in.resize(cards);
    n.memory.resize(static_cast<std::size_t>(shape.ranks_per_node));
    n.sockets.resize(static_cast<std::size_t>(m.node.sockets));
    for (socket_lines& s : n.sockets) s.to_other.resize(n.sockets.size());
  }
  gpus_.resize(nodes * static_cast<std::size_t>(std::max(gpus_per_node_, 1)));
  if (m.tree.nodes_of_leaf == 0) return;
  const auto below = static_cast<std::size_t>(m.tree.nodes_of_leaf);
  leaves_.resize((nodes + below - 1) / below);
  const double links = m.tree.links_of_leaf > 0 ? m.tree.links_of_leaf : static_cast<double>(below * cards);
  for (leaf_lines& l : leaves_) {
    l.up.resize(static_cast<std::size_t>(std::max(1.0, links)));
    l.down.resize(l.up.size());
  }
}

std::int64_t network_model::latency(double us) { return ns_of_us(us * all_.noise(m_.noise.latency)); }

network_model::passage network_model::send(const end& from, const end& to, std::uint64_t bytes) {
  return shape_.node_of(from.rank) == shape_.node_of(to.rank) ? within_node(from, to, bytes)
                                                              : between_nodes(from, to, bytes);
}

std::int64_t network_model::word_ns(rank_id from, rank_id to) const {
  return ns_of_us(shape_.node_of(from) == shape_.node_of(to) ? m_.node.shared_us : m_.network.latency_us);
}

network_model::passage network_model::within_node(const end& from, const end& to, std::uint64_t bytes) {
  const int node = shape_.node_of(from.rank);
  const bool from_gpu = from.kind == memory_kind::device && from.gpu >= 0;
  const bool to_gpu = to.kind == memory_kind::device && to.gpu >= 0;
  if (from_gpu && to_gpu) return copy_to_peer(node, from.gpu, to.gpu, bytes);
  if (from_gpu || to_gpu) {
    const std::int64_t left = copy_with_host(node, from_gpu ? from.gpu : to.gpu, to_gpu, bytes);
    return {left, left + latency(m_.node.shared_us)};
  }
  const int sender = shape_.place_in_node(from.rank), receiver = shape_.place_in_node(to.rank);
  shared_line& memory = nodes_[static_cast<std::size_t>(node)].memory[static_cast<std::size_t>(receiver)];
  shared_line* const between =
      between_sockets(node, socket_of(sender, shape_.ranks_per_node), socket_of(receiver, shape_.ranks_per_node));
  const std::int64_t ns = ns_of(bytes, m_.node.shared_gbs);
  const std::int64_t across = between != nullptr ? ns_of(bytes, m_.node.socket_gbs) : 0;
  const std::int64_t begin = take(all_.now(), all_.now(), {{&memory, ns}, {between, across}});
  const std::int64_t left = begin + std::max(ns, across);
  return {left, left + latency(m_.node.shared_us)};
}

shared_line* network_model::between_sockets(int node, int from, int to) {
  return from == to ? nullptr : &socket(node, from).to_other[static_cast<std::size_t>(to)];
}

std::int64_t network_model::copy_with_host(int node, int gpu, bool to_gpu, std::uint64_t bytes) {
  gpu_lines& lines = lines_of(node, gpu);
  socket_lines& its = socket(node, socket_of(gpu, gpus_per_node_));
  const std::int64_t ns = ns_of(bytes, m_.gpu.host_gbs);
  const std::int64_t on_bus = m_.gpu.bus_gbs > 0 ? ns_of(bytes, m_.gpu.bus_gbs) : 0;
  const std::int64_t begin =
      take(all_.now(), all_.now(),
           {{to_gpu ? &lines.from_host : &lines.to_host, ns}, {to_gpu ? &its.bus_down : &its.bus_up, on_bus}});
  return begin + std::max(ns, on_bus);
}

network_model::passage network_model::copy_to_peer(int node, int from, int to, std::uint64_t bytes) {
  if (from == to) {
    const std::int64_t at = all_.now() + ns_of(2 * bytes, m_.gpu.memory_gbs) + latency(m_.gpu.copy_start_us);
    return {at, at};
  }
  shared_line &out = lines_of(node, from).out, &in = lines_of(node, to).in;
  const int a = socket_of(from, gpus_per_node_), b = socket_of(to, gpus_per_node_);
  const std::int64_t ns = ns_of(bytes, m_.gpu.peer_gbs);
  const std::int64_t on_bus = m_.gpu.bus_gbs > 0 ? ns_of(bytes, m_.gpu.bus_gbs) : 0;
  const std::int64_t across = a != b ? ns_of(bytes, m_.node.socket_gbs) : 0;
  const std::int64_t begin = take(all_.now(), all_.now(),
                                  {{&out, ns},
                                   {&in, ns},
                                   {&socket(node, a).bus_up, on_bus},
                                   {&socket(node, b).bus_down, on_bus},
                                   {between_sockets(node, a, b), across}});
  const std::int64_t left = begin + std::max({ns, on_bus, across});
  return {left, left + latency(m_.gpu.peer_us)};
}

shared_line& network_model::choose(std::vector<shared_line>& links, int from_node, int to_node) const {
  if (m_.tree.adaptive) return *std::ranges::min_element(links, {}, [](const shared_line& l) { return l.done_at(); });
  const std::uint64_t pair = (static_cast<std::uint64_t>(from_node) << 32) | static_cast<std::uint64_t>(to_node);
  return links[mix(pair) % links.size()];
}

network_model::passage network_model::between_nodes(const end& from, const end& to, std::uint64_t bytes) {
  const int a = shape_.node_of(from.rank), b = shape_.node_of(to.rank);
  const auto card_of = [&](rank_id r) {
    return static_cast<std::size_t>(shape_.place_in_node(r) * m_.network.cards / shape_.ranks_per_node);
  };
  shared_line& out = nodes_[static_cast<std::size_t>(a)].out[card_of(from.rank)];
  shared_line& in = nodes_[static_cast<std::size_t>(b)].in[card_of(to.rank)];
  shared_line *up = nullptr, *down = nullptr;
  if (!leaves_.empty() && a / m_.tree.nodes_of_leaf != b / m_.tree.nodes_of_leaf) {
    up = &choose(leaves_[static_cast<std::size_t>(a / m_.tree.nodes_of_leaf)].up, a, b);
    down = &choose(leaves_[static_cast<std::size_t>(b / m_.tree.nodes_of_leaf)].down, a, b);
  }
  const int gpu_ends = (from.kind == memory_kind::device ? 1 : 0) + (to.kind == memory_kind::device ? 1 : 0);
  const double gbs = gpu_ends > 0 ? m_.network.gpu_gbs : m_.network.gbs;
  const std::int64_t on_card = std::max(ns_of(bytes, gbs), ns_of_us(m_.network.message_us));
  const std::int64_t on_link = ns_of(bytes, m_.network.gbs);
  // Each end takes what comes in turn: who sends to a card that is busy can send to others meanwhile.
  const std::int64_t begin = take(all_.now(), all_.now(), {{&out, on_card}, {up, on_link}});
  const std::int64_t flies = latency(m_.network.latency_us + m_.network.gpu_latency_us * gpu_ends);
  const std::int64_t lands = take(begin + flies, all_.now(), {{&in, on_card}, {down, on_link}});
  return {begin + on_card, lands + on_card};
}

}  // namespace imbrex
