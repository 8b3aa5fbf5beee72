#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "imbrex/balance/strategies/as_index.h"
#include "imbrex/balance/strategies/memory_fit.h"
#include "imbrex/balance/strategies/strategies.h"
#include "imbrex/base/error.h"

namespace imbrex {

namespace {

constexpr double small = 0.002;  // differences of times that nobody moves for, as a share of the longer

/// All PEs; each looks only at itself, its GPU, and the neighbour that it is paired with.
class neighbourhood {
 public:
  neighbourhood(const balance_problem& p, std::vector<int> placement)
      : p_(p), placement_(std::move(placement)), pes_(p.pes.size()), gpus_(p.gpus.size()) {
    for (std::size_t i = 0; i < pes_.size(); ++i) {
      pes_[i].time = p.pes[i].background_seconds;
      pes_[i].per_work = 1 / p.pes[i].rate;
    }
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      gpus_[i] = {p.gpus[i].background_seconds, 1 / p.gpus[i].rate, p.gpus[i].memory_bytes};
    std::vector<std::size_t> num(pes_.size());
    for (const int pe : placement_) ++num[as_index(pe)];
    for (std::size_t i = 0; i < pes_.size(); ++i) pes_[i].elements.reserve(num[i]);
    for (std::size_t i = 0; i < placement_.size(); ++i) arrive(p.elements[i], static_cast<int>(i), placement_[i]);
  }

  /// Whether somebody moved.
  bool even_out(int a, int b) {
    num_moved_ = 0;
    const int gpu_a = p_.pes[as_index(a)].gpu;
    const int gpu_b = p_.pes[as_index(b)].gpu;
    if (gpu_a != gpu_b && gpu_a != no_gpu && gpu_b != no_gpu) {
      if (gpus_[as_index(gpu_a)].time >= gpus_[as_index(gpu_b)].time)
        give_gpu_work(a, b);
      else
        give_gpu_work(b, a);
    }
    if (pes_[as_index(a)].time >= pes_[as_index(b)].time)
      give_host_work(a, b);
    else
      give_host_work(b, a);
    return num_moved_ > 0;
  }

  const std::vector<int>& placement() const { return placement_; }

 private:
  struct item {
    double host;
    double gpu;
    int element;
  };
  struct pe_state {
    double time = 0;
    double per_work = 1;
    std::vector<item> elements;  // that can move
  };
  struct gpu_state {
    double time = 0;
    double per_work = 1;
    std::uint64_t room = 0;
  };

  void arrive(const balance_element& e, int number, int pe) {
    pe_state& s = pes_[as_index(pe)];
    s.time += e.host_seconds * s.per_work;
    if (e.needs_gpu()) {
      gpu_state& g = gpus_[as_index(p_.pes[as_index(pe)].gpu)];
      g.time += e.gpu_seconds * g.per_work;
      if (g.room != unlimited_bytes) g.room -= e.device_bytes;
    }
    if (!e.pinned) s.elements.push_back({e.host_seconds, e.gpu_seconds, number});
  }

  void give_host_work(int from, int to) {
    const pe_state& s = pes_[as_index(from)];
    const pe_state& t = pes_[as_index(to)];
    const double difference = s.time - t.time;
    if (difference <= small * s.time) return;
    give(from, to, difference / (s.per_work + t.per_work), &item::host);
  }
  void give_gpu_work(int from, int to) {
    const gpu_state& s = gpus_[as_index(p_.pes[as_index(from)].gpu)];
    const gpu_state& t = gpus_[as_index(p_.pes[as_index(to)].gpu)];
    const double difference = s.time - t.time;
    if (difference <= small * s.time) return;
    give(from, to, difference / (s.per_work + t.per_work), &item::gpu);
  }

  double longest_time(int a, int b) const {
    double longest = std::max(pes_[as_index(a)].time, pes_[as_index(b)].time);
    for (const int gpu : {p_.pes[as_index(a)].gpu, p_.pes[as_index(b)].gpu}) {
      if (gpu != no_gpu) longest = std::max(longest, gpus_[as_index(gpu)].time);
    }
    return longest;
  }

  /// About so much, and in the end one that is more than what is left, if less than twice as much.
  void give(int from, int to, double amount, double item::* weight) {
    const double limit = longest_time(from, to);
    std::vector<item>& all = pes_[as_index(from)].elements;
    double left = amount;
    std::size_t lightest = all.size();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double w = all[i].*weight;
      if (w > 0 && w <= left && move(all[i], from, to, limit)) {
        left -= w;
        continue;
      }
      if (w > 0 && (lightest >= kept || w < all[lightest].*weight)) lightest = kept;
      all[kept++] = all[i];
    }
    all.resize(kept);
    if (lightest >= kept || all[lightest].*weight >= 2 * left) return;
    if (move(all[lightest], from, to, limit)) all.erase(all.begin() + static_cast<std::ptrdiff_t>(lightest));
  }

  /// False where it would make the longest time of the two longer, or the memory is too small.
  bool move(const item& x, int from, int to, double limit) {
    const balance_element& e = p_.elements[as_index(x.element)];
    pe_state& t = pes_[as_index(to)];
    if (t.time + x.host * t.per_work > limit) return false;
    if (e.needs_gpu()) {
      const int gpu_from = p_.pes[as_index(from)].gpu;
      const int gpu_to = p_.pes[as_index(to)].gpu;
      if (gpu_to == no_gpu) return false;
      gpu_state& g = gpus_[as_index(gpu_to)];
      if (gpu_to != gpu_from && (g.room < e.device_bytes || g.time + x.gpu * g.per_work > limit)) return false;
      gpu_state& old = gpus_[as_index(gpu_from)];
      old.time -= x.gpu * old.per_work;
      if (old.room != unlimited_bytes) old.room += e.device_bytes;
    }
    pes_[as_index(from)].time -= x.host * pes_[as_index(from)].per_work;
    arrive(e, x.element, to);
    placement_[as_index(x.element)] = to;
    ++num_moved_;
    return true;
  }

  const balance_problem& p_;
  std::vector<int> placement_;
  std::vector<pe_state> pes_;
  std::vector<gpu_state> gpus_;
  int num_moved_ = 0;
};

}  // namespace

diffusion_strategy::diffusion_strategy()
    : diffusion_strategy([](const balance_problem& p) { return hypercube_of(static_cast<int>(p.pes.size())); }) {}

diffusion_strategy::diffusion_strategy(topology_of neighbours, int max_sweeps)
    : neighbours_(std::move(neighbours)), max_sweeps_(max_sweeps) {}

balance_plan diffusion_strategy::plan(const balance_problem& problem) const {
  check_problem(problem);
  const pe_topology t = neighbours_(problem);
  if (static_cast<std::size_t>(t.num_pes) != problem.pes.size()) {
    throw usage_error(
        fmt::format("the topology has {} PEs, but there are {}: make one of all PEs", t.num_pes, problem.pes.size()));
  }
  neighbourhood all(problem, detail::fitting_placement(problem));
  bool has_moved = true;
  for (int sweep = 0; sweep < max_sweeps_ && has_moved; ++sweep) {
    has_moved = false;
    for (const auto& round : t.rounds) {
      for (const auto& [a, b] : round) has_moved = all.even_out(a, b) || has_moved;
    }
  }
  return detail::better_plan(problem, all.placement());
}

}  // namespace imbrex
