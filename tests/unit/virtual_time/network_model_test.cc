#include "imbrex/virtual_time/machine/network_model.h"

#include <gtest/gtest.h>

namespace network_model_test {

namespace {

using imbrex::job_shape;
using imbrex::machine;
using imbrex::memory_kind;
using imbrex::network_model;
using imbrex::simulation;

machine simple() {
  machine m;
  m.node.gpus = 2;
  m.node.shared_us = 1;
  m.node.shared_gbs = 10;
  m.network.latency_us = 2;
  m.network.gbs = 10;
  m.network.cards = 1;
  m.network.message_us = 0;
  m.network.gpu_latency_us = 3;
  m.network.gpu_gbs = 5;
  m.gpu.peer_gbs = 50;
  m.gpu.peer_us = 1;
  m.gpu.host_gbs = 20;
  return m;
}

network_model::end host(int rank) { return {rank, memory_kind::host, -1}; }
network_model::end gpu(int rank, int number) { return {rank, memory_kind::device, number}; }

constexpr std::uint64_t kb = 1000;

TEST(shared_line, is_had_where_it_is_free_for_long_enough) {
  imbrex::shared_line l;
  EXPECT_EQ(l.free_at(5, 10), 5);
  l.use(100, 50, 0);
  EXPECT_EQ(l.free_at(0, 100), 0);
  EXPECT_EQ(l.free_at(0, 101), 150);
  EXPECT_EQ(l.free_at(120, 1), 150);
  l.use(0, 60, 0);
  l.use(60, 40, 0);  // it is busy from 0 to 150 now
  EXPECT_EQ(l.free_at(0, 1), 150);
  EXPECT_EQ(l.done_at(), 150);
  l.use(200, 10, 0);
  EXPECT_EQ(l.free_at(0, 50), 150);
  EXPECT_EQ(l.free_at(0, 51), 210);
  l.use(300, 10, 250);
  EXPECT_EQ(l.free_at(250, 50), 250);
  l.use(310, 0, 250);
  EXPECT_EQ(l.done_at(), 310);
}

TEST(network_model, between_nodes_latency_and_bytes_add_up) {
  const machine m = simple();
  simulation all(1);
  network_model net(m, job_shape{8, 2, 1}, all);
  const auto way = net.send(host(0), host(2), 100 * kb);
  EXPECT_EQ(way.left, 10'000);
  EXPECT_EQ(way.arrived, 12'000);
}

TEST(network_model, memory_of_gpus_takes_longer) {
  const machine m = simple();
  simulation all(1);
  network_model net(m, job_shape{8, 2, 1}, all);
  const auto way = net.send(gpu(0, 0), gpu(2, 0), 100 * kb);
  EXPECT_EQ(way.left, 20'000);
  EXPECT_EQ(way.arrived, 20'000 + 2'000 + 6'000);
}

TEST(network_model, a_card_sends_one_after_the_other) {
  const machine m = simple();
  simulation all(1);
  network_model net(m, job_shape{8, 2, 1}, all);
  EXPECT_EQ(net.send(host(0), host(2), 100 * kb).arrived, 12'000);
  EXPECT_EQ(net.send(host(1), host(4), 100 * kb).arrived, 22'000);           // the same node's card
  EXPECT_EQ(net.send(host(6), host(5), 100 * kb).arrived, 12'000);           // before it, at node 2's card
  EXPECT_EQ(net.send(host(7), host(5), 100 * kb).arrived, 22'000 + 10'000);  // behind it
}

TEST(network_model, more_cards_serve_more_ranks) {
  machine m = simple();
  m.network.cards = 2;
  simulation all(1);
  network_model net(m, job_shape{8, 2, 1}, all);
  EXPECT_EQ(net.send(host(0), host(2), 100 * kb).arrived, 12'000);
  EXPECT_EQ(net.send(host(1), host(3), 100 * kb).arrived, 12'000);
}

TEST(network_model, within_a_node_gpus_are_peers) {
  const machine m = simple();
  simulation all(1);
  network_model net(m, job_shape{8, 2, 1}, all);
  EXPECT_EQ(net.send(gpu(0, 0), gpu(1, 1), 100 * kb).arrived, 3'000);
  EXPECT_EQ(net.send(gpu(0, 0), host(1), 100 * kb).arrived, 6'000);
  EXPECT_EQ(net.send(host(0), host(1), 100 * kb).arrived, 11'000);
}

TEST(network_model, gpus_on_one_bus_share_it) {
  machine m = simple();
  simulation all(1);
  network_model apart(m, job_shape{2, 2, 1}, all);
  EXPECT_EQ(apart.copy_with_host(0, 0, true, 100 * kb), 5'000);
  EXPECT_EQ(apart.copy_with_host(0, 1, true, 100 * kb), 5'000);
  m.gpu.bus_gbs = 20;
  simulation other(1);
  network_model net(m, job_shape{2, 2, 1}, other);
  EXPECT_EQ(net.copy_with_host(0, 0, true, 100 * kb), 5'000);
  EXPECT_EQ(net.copy_with_host(0, 1, true, 100 * kb), 10'000);
  EXPECT_EQ(net.copy_with_host(0, 1, false, 100 * kb), 5'000);      // the other way
  EXPECT_EQ(net.copy_to_peer(0, 0, 1, 100 * kb).left, 15'000);      // up from the one, down to the other
  EXPECT_EQ(net.send(host(0), host(1), 100 * kb).arrived, 11'000);  // not of GPUs
}

TEST(network_model, what_goes_from_processor_to_processor_shares_their_link) {
  machine m = simple();
  m.node.gpus = 4;
  m.node.sockets = 2;
  m.node.socket_gbs = 25;
  simulation all(1);
  network_model net(m, job_shape{4, 4, 1}, all);
  EXPECT_EQ(net.copy_to_peer(0, 0, 1, 100 * kb).left, 2'000);
  EXPECT_EQ(net.copy_to_peer(0, 0, 2, 100 * kb).left, 2'000 + 4'000);
  EXPECT_EQ(net.copy_to_peer(0, 1, 3, 100 * kb).left, 10'000);  // behind it
  EXPECT_EQ(net.copy_to_peer(0, 3, 0, 100 * kb).left, 4'000);   // the other way
  m.node.socket_gbs = 5;
  simulation other(1);
  network_model slow(m, job_shape{4, 4, 1}, other);
  EXPECT_EQ(slow.send(host(0), host(1), 100 * kb).arrived, 11'000);
  EXPECT_EQ(slow.send(host(0), host(3), 100 * kb).arrived, 21'000);
}

TEST(network_model, links_between_leaves_are_shared) {
  machine m = simple();
  m.tree.nodes_of_leaf = 2;
  m.tree.links_of_leaf = 1;
  simulation all(1);
  network_model net(m, job_shape{8, 1, 1}, all);
  EXPECT_EQ(net.send(host(0), host(1), 100 * kb).arrived, 12'000);  // in one leaf
  EXPECT_EQ(net.send(host(2), host(4), 100 * kb).arrived, 12'000);
  EXPECT_EQ(net.send(host(3), host(6), 100 * kb).arrived, 22'000);  // one link up for both
  m.tree.links_of_leaf = 2;
  simulation other(1);
  network_model wide(m, job_shape{8, 1, 1}, other);
  EXPECT_EQ(wide.send(host(2), host(4), 100 * kb).arrived, 12'000);
  EXPECT_EQ(wide.send(host(3), host(6), 100 * kb).arrived, 12'000);
}

TEST(network_model, noise_of_the_same_seed_is_the_same) {
  machine m = simple();
  m.noise.latency = 0.3;
  const auto arrivals = [&](std::uint64_t seed) {
    simulation all(seed);
    network_model net(m, job_shape{8, 2, 1}, all);
    std::vector<std::int64_t> times;
    for (int i = 0; i < 20; ++i) times.push_back(net.send(host(0), host(2), 0).arrived);
    return times;
  };
  EXPECT_EQ(arrivals(3), arrivals(3));
  EXPECT_NE(arrivals(3), arrivals(4));
}

}  // namespace

}  // namespace network_model_test
