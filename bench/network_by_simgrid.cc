// The network of virtual time beside SimGrid's, on the same machine and the same halo exchanges, for
// docs/virtual-time.md:
//
//   bench_network_by_simgrid [machine=summit] [rounds=4]
//
// A rank drives each GPU of N nodes and exchanges faces with six neighbours of a 3-D grid, the next round when all of
// the last have come. imbrex: a transfer has each line on its way for itself, in turn (LogGP). SimGrid: all share the
// lines at once, max-min fair (its model CM02, without cross traffic: bandwidths and latencies as they are written).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "imbrex/virtual_time/core/simulation.h"
#include "imbrex/virtual_time/machine/machine.h"
#include "imbrex/virtual_time/machine/network_model.h"

namespace {

using imbrex::job_shape;
using imbrex::machine;

/// Ranks in a grid that is about a cube, and the bytes of the faces between them.
struct halo_exchange {
  std::array<int, 3> ranks{};
  std::array<std::uint64_t, 3> face_bytes{};  // to the neighbours along x, y, z
  int rounds = 1;

  int num_ranks() const { return ranks[0] * ranks[1] * ranks[2]; }
  template <class F>
  void for_each_neighbour(int r, F f) const {
    const std::array<int, 3> at{r % ranks[0], r / ranks[0] % ranks[1], r / (ranks[0] * ranks[1])};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      for (const int step : {-1, 1}) {
        std::array<int, 3> there = at;
        there[axis] += step;
        if (there[axis] < 0 || there[axis] >= ranks[axis]) continue;
        f((there[2] * ranks[1] + there[1]) * ranks[0] + there[0], face_bytes[axis]);
      }
    }
  }
  int num_neighbours(int r) const {
    int n = 0;
    for_each_neighbour(r, [&](int, std::uint64_t) { ++n; });
    return n;
  }
};

/// Of a grid of n^3 numbers; the cut with the least surface.
halo_exchange exchange_of(int num_ranks, double n, int rounds) {
  halo_exchange best;
  double least = 1e300;
  for (int x = 1; x <= num_ranks; ++x) {
    for (int y = 1; num_ranks % x == 0 && y <= num_ranks / x; ++y) {
      if (num_ranks / x % y != 0) continue;
      const int z = num_ranks / x / y;
      const std::array<double, 3> cells{n / x, n / y, n / z};
      const double surface = cells[0] * cells[1] + cells[1] * cells[2] + cells[0] * cells[2];
      if (surface >= least) continue;
      least = surface;
      const auto bytes = [](double a, double b) { return static_cast<std::uint64_t>(8 * a * b); };
      best = {{x, y, z}, {bytes(cells[1], cells[2]), bytes(cells[0], cells[2]), bytes(cells[0], cells[1])}, rounds};
    }
  }
  return best;
}

imbrex::network_model::end end_of(const machine& m, const job_shape& shape, int rank) {
  return {rank, imbrex::memory_kind::device, shape.place_in_node(rank) % m.node.gpus};
}

/// Seconds.
double by_imbrex(const machine& m, const job_shape& shape, const halo_exchange& halo) {
  imbrex::simulation time(1);
  imbrex::network_model network(m, shape, time);
  struct state {
    int round = 0;
    std::vector<int> arrived;  // of each round
  };
  std::vector<state> ranks(static_cast<std::size_t>(halo.num_ranks()));
  for (state& s : ranks) s.arrived.resize(static_cast<std::size_t>(halo.rounds));
  std::function<void(int)> begin_round = [&](int r) {
    state& s = ranks[static_cast<std::size_t>(r)];
    if (s.round == halo.rounds) return;
    const auto round = static_cast<std::size_t>(s.round);
    halo.for_each_neighbour(r, [&](int to, std::uint64_t bytes) {
      const auto way = network.send(end_of(m, shape, r), end_of(m, shape, to), bytes);
      time.call_at(way.arrived, [&, to, round] {
        state& there = ranks[static_cast<std::size_t>(to)];
        ++there.arrived[round];
        while (there.round < halo.rounds &&
               there.arrived[static_cast<std::size_t>(there.round)] == halo.num_neighbours(to)) {
          ++there.round;
          begin_round(to);
        }
      });
    });
  };
  for (int r = 0; r < halo.num_ranks(); ++r) time.call_at(0, [&, r] { begin_round(r); });
  time.run();
  return static_cast<double>(time.now()) * 1e-9;
}

namespace sg4 = simgrid::s4u;

/// The same lines as `network_model` has; those of a leaf's links together, as adaptive routes make them.
void build_platform(const machine& m, const job_shape& shape, const halo_exchange& halo) {
  sg4::NetZone* zone = sg4::create_full_zone("all");
  constexpr double any = 1e9, giga = 1e9, micro = 1e-6;
  std::map<std::string, sg4::Link*> links;
  const auto link = [&](const std::string& name, double gbs, double us) {
    sg4::Link*& l = links[name];
    if (l == nullptr)
      l = zone->create_link(name, gbs * giga)
              ->set_latency(us * micro)
              ->set_sharing_policy(sg4::Link::SharingPolicy::SHARED)
              ->seal();
    return l;
  };
  std::vector<sg4::Host*> hosts;
  hosts.reserve(static_cast<std::size_t>(halo.num_ranks()));
  for (int r = 0; r < halo.num_ranks(); ++r) hosts.push_back(zone->create_host(fmt::format("r{}", r), any)->seal());
  const auto card = [&](int r) { return shape.place_in_node(r) * m.network.cards / shape.ranks_per_node; };
  const int below = m.tree.nodes_of_leaf;
  const double leaf_gbs = m.network.gbs * (m.tree.links_of_leaf > 0 ? m.tree.links_of_leaf : below * m.network.cards);
  for (int r = 0; r < halo.num_ranks(); ++r) {
    halo.for_each_neighbour(r, [&](int to, std::uint64_t) {
      const int a = shape.node_of(r), b = shape.node_of(to);
      std::vector<sg4::LinkInRoute> way;
      if (a == b) {
        way.emplace_back(link(fmt::format("gpu {} out", r), m.gpu.peer_gbs, m.gpu.peer_us));
        way.emplace_back(link(fmt::format("gpu {} in", to), m.gpu.peer_gbs, 0));
      } else {
        const double gbs = std::min(m.network.gbs, m.network.gpu_gbs);
        way.emplace_back(
            link(fmt::format("card {}.{} out", a, card(r)), gbs, m.network.latency_us + 2 * m.network.gpu_latency_us));
        if (below > 0 && a / below != b / below) {
          way.emplace_back(link(fmt::format("leaf {} up", a / below), leaf_gbs, 0));
          way.emplace_back(link(fmt::format("leaf {} down", b / below), leaf_gbs, 0));
        }
        way.emplace_back(link(fmt::format("card {}.{} in", b, card(to)), gbs, 0));
      }
      zone->add_route(hosts[static_cast<std::size_t>(r)]->get_netpoint(),
                      hosts[static_cast<std::size_t>(to)]->get_netpoint(), nullptr, nullptr, way, false);
    });
  }
  zone->seal();
}

void rank_of_simgrid(int r, const halo_exchange& halo) {
  int word = 0;
  const auto box = [](int from, int to, int round) {
    return sg4::Mailbox::by_name(fmt::format("{} {} {}", from, to, round));
  };
  for (int round = 0; round < halo.rounds; ++round) {
    halo.for_each_neighbour(r,
                            [&](int to, std::uint64_t bytes) { box(r, to, round)->put_init(&word, bytes)->detach(); });
    std::vector<sg4::CommPtr> coming;
    std::vector<int*> got(static_cast<std::size_t>(halo.num_neighbours(r)));
    halo.for_each_neighbour(r, [&](int from, std::uint64_t) {
      coming.push_back(box(from, r, round)->get_async<int>(&got[coming.size()]));
    });
    for (const sg4::CommPtr& c : coming) c->wait();
  }
}

/// Seconds; once in a process, which SimGrid's engine is made for.
double by_simgrid(sg4::Engine& engine, const machine& m, const job_shape& shape, const halo_exchange& halo) {
  build_platform(m, shape, halo);
  for (int r = 0; r < halo.num_ranks(); ++r)
    sg4::Actor::create(fmt::format("rank {}", r), engine.host_by_name(fmt::format("r{}", r)),
                       [r, &halo] { rank_of_simgrid(r, halo); });
  engine.run();
  return sg4::Engine::get_clock();
}

/// One case: "nodes n".
void compare(sg4::Engine& engine, const machine& m, int nodes, double n, int rounds) {
  const job_shape shape{nodes * m.node.gpus, m.node.gpus, 1};
  const halo_exchange halo = exchange_of(shape.num_ranks, n, rounds);
  const double ours = by_imbrex(m, shape, halo), theirs = by_simgrid(engine, m, shape, halo);
  fmt::print("| {} | {} | {:.0f}^3 | {:.0f} KB | {:.1f} | {:.1f} | {:+.1f} % |\n", nodes, shape.num_ranks, n,
             static_cast<double>(std::ranges::max(halo.face_bytes)) / 1e3, ours / rounds * 1e6, theirs / rounds * 1e6,
             100 * (ours / theirs - 1));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "summit";
  const int rounds = argc > 2 ? std::max(std::atoi(argv[2]), 1) : 4;
  if (argc > 4) {
    machine m = imbrex::read_machine(name);
    m.noise = {};
    std::vector<std::string> words{argv[0], "--cfg=network/model:CM02", "--cfg=network/crosstraffic:0",
                                   "--cfg=network/TCP-gamma:0", "--log=root.thresh:warning"};
    std::vector<char*> pointers;
    pointers.reserve(words.size());
    for (std::string& w : words) pointers.push_back(w.data());
    int count = static_cast<int>(pointers.size());
    sg4::Engine engine(&count, pointers.data());
    compare(engine, m, std::atoi(argv[3]), std::atof(argv[4]), rounds);
    return 0;
  }
  fmt::print(
      "| nodes | GPUs | grid | largest face | imbrex, us a round | SimGrid | |\n|---|---|---|---|---|---|---|\n");
  std::fflush(stdout);
  for (const int nodes : {2, 8, 18, 32, 64}) {
    for (const double n : {768.0, 3072.0}) {
      const int failed = std::system(fmt::format("'{}' '{}' {} {} {}", argv[0], name, rounds, nodes, n).c_str());
      if (failed != 0) return 1;
    }
  }
  return 0;
}
