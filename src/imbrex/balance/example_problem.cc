#include "imbrex/balance/example_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

constexpr double face_bytes = 8 * 64 * 64;  // a halo of 64 x 64 doubles
constexpr std::uint64_t block_bytes = 8 * 64 * 64 * 64;

void check(const example_options& o) {
  for (const int n : o.extents) {
    if (n < 1) throw usage_error(fmt::format("an example with an extent of {} has no elements: give at least 1", n));
  }
  if (o.num_pes < 1 || o.pes_per_rank < 1 || o.ranks_per_node < 1 || o.gpus_per_node < 0) {
    throw usage_error(
        fmt::format("an example cannot have {} PEs, {} a rank, {} ranks and {} GPUs a node: give at least 1", o.num_pes,
                    o.pes_per_rank, o.ranks_per_node, o.gpus_per_node));
  }
  if (!(o.gpu_share >= 0 && o.gpu_share <= 1) || (o.gpu_share > 0 && o.gpus_per_node == 0)) {
    throw usage_error(fmt::format("a share of {} for {} GPUs a node is none: give 0 to 1, above 0 only with GPUs",
                                  o.gpu_share, o.gpus_per_node));
  }
}

/// How many boxes along each side, so that there are `num`, none is empty if that can be, and they are about cubes.
std::array<int, 3> boxes(int num, const std::array<int, 3>& extents) {
  std::array<int, 3> best{num, 1, 1};
  double least = -1;
  for (int x = 1; x <= num; ++x) {
    if (num % x != 0) continue;
    for (int y = 1; y <= num / x; ++y) {
      if (num / x % y != 0) continue;
      const std::array<int, 3> n{x, y, num / x / y};
      std::array<double, 3> side{};
      double empty = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        side[d] = std::max(1.0, static_cast<double>(extents[d]) / n[d]);
        empty += std::max(0.0, static_cast<double>(n[d]) / extents[d] - 1);
      }
      const double surface = 1 / side[0] + 1 / side[1] + 1 / side[2] + 1e3 * empty;
      if (least < 0 || surface < least) {
        least = surface;
        best = n;
      }
    }
  }
  return best;
}

/// There and back: 0 to 1 to 0 while `turn` goes from 0 to 1.
double there_and_back(double turn) {
  const double t = turn - std::floor(turn);
  return t < 0.5 ? 2 * t : 2 - 2 * t;
}

void add_machine(const example_options& o, balance_problem& p) {
  const int pes_per_node = o.pes_per_rank * o.ranks_per_node;
  const int num_nodes = (o.num_pes + pes_per_node - 1) / pes_per_node;
  for (int i = 0; i < o.num_pes; ++i) {
    const int node = i / pes_per_node;
    const int gpu =
        o.gpus_per_node == 0 ? no_gpu : node * o.gpus_per_node + i % pes_per_node * o.gpus_per_node / pes_per_node;
    p.pes.push_back({i / o.pes_per_rank, node, gpu, 1, 0});
  }
  p.gpus.resize(static_cast<std::size_t>(num_nodes * o.gpus_per_node));
}

void add_elements(const example_options& o, balance_problem& p) {
  const auto [nx, ny, nz] = o.extents;
  const double longest = std::max({nx, ny, nz});
  const std::array<double, 3> middle{there_and_back(o.turn) * nx, there_and_back(o.turn + 0.25) * ny, 0.5 * nz};
  const std::array<int, 3> n = boxes(o.num_pes, o.extents);
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x) {
        const std::array<double, 3> at{x + 0.5, y + 0.5, z + 0.5};
        double distance = 0;  // squared, in radii
        for (std::size_t d = 0; d < 3; ++d) {
          const double far = (at[d] - middle[d]) / (o.radius * longest);
          distance += far * far;
        }
        const double seconds = o.element_seconds * (1 + o.hot / (1 + distance * distance));
        balance_element e;
        e.gpu_seconds = seconds * o.gpu_share;
        e.host_seconds = seconds - e.gpu_seconds;
        (o.gpu_share > 0 ? e.device_bytes : e.host_bytes) = block_bytes;
        e.move_bytes = block_bytes;
        const auto box = [](int i, int boxes_there, int extent) {
          return static_cast<int>(static_cast<std::int64_t>(i) * boxes_there / extent);
        };
        e.pe = (box(z, n[2], nz) * n[1] + box(y, n[1], ny)) * n[0] + box(x, n[0], nx);
        p.elements.push_back(e);
        p.places.push_back(at);
      }
    }
  }
}

}  // namespace

balance_problem example_problem(const example_options& o) {
  check(o);
  balance_problem p;
  p.num_dimensions = 3;
  add_machine(o, p);
  add_elements(o, p);
  std::vector<balance_traffic> halos;
  const auto [nx, ny, nz] = o.extents;
  for (int i = 0; i < static_cast<int>(p.elements.size()); ++i) {
    if (i % nx + 1 < nx) halos.push_back({i, i + 1, 2 * face_bytes});
    if (i / nx % ny + 1 < ny) halos.push_back({i, i + nx, 2 * face_bytes});
    if (i / nx / ny + 1 < nz) halos.push_back({i, i + nx * ny, 2 * face_bytes});
  }
  p.communication = communication_graph::of(p.elements.size(), halos);
  return p;
}

}  // namespace imbrex
