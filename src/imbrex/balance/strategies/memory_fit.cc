#include "imbrex/balance/strategies/memory_fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "imbrex/base/error.h"

namespace imbrex::detail {

namespace {

/// Room of all GPUs for elements that are taken off and put back, the largest first.
class packing {
 public:
  packing(const balance_problem& p, const std::vector<int>& placement) : p_(p), placement_(placement) {
    for (const balance_gpu& g : p.gpus) limit_.push_back(g.memory_bytes);
    used_.resize(limit_.size());
    pes_of_.resize(limit_.size());
    for (std::size_t i = 0; i < p.pes.size(); ++i) {
      if (p.pes[i].gpu != no_gpu) pes_of_[at(p.pes[i].gpu)].push_back(static_cast<int>(i));
    }
    for (std::size_t i = 0; i < placement.size(); ++i) {
      if (p.elements[i].device_bytes > 0) used_[at(gpu_of(i))] += p.elements[i].device_bytes;
    }
  }

  bool fits() const {
    for (std::size_t g = 0; g < used_.size(); ++g) {
      if (used_[g] > limit_[g]) return false;
    }
    return true;
  }

  /// Takes what can move off the GPUs: off those that hold too much, or off all.
  void take_off(bool off_all) {
    std::vector<bool> from(used_.size());
    for (std::size_t g = 0; g < used_.size(); ++g) from[g] = off_all || used_[g] > limit_[g];
    for (std::size_t i = 0; i < placement_.size(); ++i) {
      const balance_element& e = p_.elements[i];
      if (e.device_bytes == 0 || e.pinned || !from[at(gpu_of(i))]) continue;
      off_.push_back(i);
      used_[at(gpu_of(i))] -= e.device_bytes;
    }
    std::ranges::sort(
        off_, [this](std::size_t a, std::size_t b) { return bytes(a) != bytes(b) ? bytes(a) > bytes(b) : a < b; });
  }

  /// Each back to its own GPU where that has room, else to the one with most.
  bool put_back() {
    for (const std::size_t i : off_) {
      const int own = gpu_of(i);
      const int to = has_room(own, bytes(i)) ? own : roomiest();
      if (to < 0 || !has_room(to, bytes(i))) return false;
      put(i, to);
    }
    return true;
  }

  /// Tries all ways, its own GPU first; gives up after some hundred thousand steps.
  bool search(std::size_t next = 0) {
    if (next == off_.size()) return true;
    if (++num_steps_ > 300'000) return false;
    const std::size_t i = off_[next];
    const int home = placement_[i];
    const int own = gpu_of(i);
    std::vector<std::uint64_t> tried;
    for (int k = -1; k < static_cast<int>(used_.size()); ++k) {
      const int g = k < 0 ? own : k;
      if ((k >= 0 && g == own) || pes_of_[at(g)].empty() || !has_room(g, bytes(i))) continue;
      const std::uint64_t room = limit_[at(g)] - used_[at(g)];
      if (std::ranges::find(tried, room) != tried.end()) continue;  // as good as one that was not
      tried.push_back(room);
      put(i, g);
      if (search(next + 1)) return true;
      used_[at(g)] -= bytes(i);
      placement_[i] = home;
    }
    return false;
  }

  std::size_t num_off() const { return off_.size(); }
  std::vector<int>& placement() { return placement_; }

 private:
  static std::size_t at(int gpu) { return static_cast<std::size_t>(gpu); }
  int gpu_of(std::size_t element) const { return p_.pes[static_cast<std::size_t>(placement_[element])].gpu; }
  std::uint64_t bytes(std::size_t element) const { return p_.elements[element].device_bytes; }
  bool has_room(int gpu, std::uint64_t more) const {
    return used_[at(gpu)] <= limit_[at(gpu)] && limit_[at(gpu)] - used_[at(gpu)] >= more;
  }
  int roomiest() const {
    int best = -1;
    for (std::size_t g = 0; g < used_.size(); ++g) {
      if (pes_of_[g].empty() || used_[g] > limit_[g]) continue;
      if (best < 0 || limit_[g] - used_[g] > limit_[at(best)] - used_[at(best)]) best = static_cast<int>(g);
    }
    return best;
  }
  void put(std::size_t element, int gpu) {
    used_[at(gpu)] += bytes(element);
    if (gpu == gpu_of(element)) return;
    const std::vector<int>& pes = pes_of_[at(gpu)];  // in turn
    placement_[element] = pes[num_put_++ % pes.size()];
  }

  const balance_problem& p_;
  std::vector<int> placement_;
  std::vector<std::uint64_t> limit_, used_;
  std::vector<std::vector<int>> pes_of_;  // that use the GPU
  std::vector<std::size_t> off_;
  std::size_t num_put_ = 0;
  std::size_t num_steps_ = 0;
};

[[noreturn]] void fail(const balance_problem& p) {
  std::uint64_t most = 0;
  std::uint64_t total = 0;
  bool has_limit = true;
  for (std::size_t g = 0; g < p.gpus.size(); ++g) {
    const std::uint64_t limit = p.gpus[g].memory_bytes;
    if (std::ranges::none_of(p.pes, [g](const balance_pe& pe) { return pe.gpu == static_cast<int>(g); })) continue;
    most = std::max(most, limit);
    has_limit = has_limit && limit != unlimited_bytes;
    if (has_limit) total += limit;
  }
  std::uint64_t needed = 0;
  for (std::size_t i = 0; i < p.elements.size(); ++i) {
    needed += p.elements[i].device_bytes;
    if (p.elements[i].device_bytes > most) {
      throw out_of_memory(
          fmt::format("element {} needs {} B of a GPU's memory, but the largest limit is {} B: make elements smaller, "
                      "or raise the limit",
                      i, p.elements[i].device_bytes, most));
    }
  }
  if (has_limit && needed > total) {
    throw out_of_memory(
        fmt::format("elements need {} B of GPUs' memory, but all limits together are {} B: use more GPUs, or raise the "
                    "limits",
                    needed, total));
  }
  std::vector<int> placement = placement_after(p, {});
  const memory_excess worst = memory_excesses(p, placement).front();
  throw out_of_memory(fmt::format(
      "elements on GPU {} need {} B, its limit is {} B, and no other GPUs were found for them: use more GPUs, "
      "pin fewer elements, make them smaller, or raise the limits",
      worst.gpu, worst.bytes, worst.limit));
}

constexpr double rounding_of_sums = 1e-9;

}  // namespace

bool fit_memory(const balance_problem& p, std::vector<int>& placement) {
  if (p.gpus.empty()) return true;
  packing first(p, placement);
  if (first.fits()) return true;
  first.take_off(false);
  if (first.put_back() && first.fits()) {
    placement = std::move(first.placement());
    return true;
  }
  packing again(p, placement);
  again.take_off(true);
  if (!again.fits()) return false;  // what is pinned is too much
  packing all_ways = again;
  const bool found = again.put_back();
  packing& way = found ? again : all_ways;
  if (!found && (all_ways.num_off() > most_searched || !all_ways.search())) return false;
  placement = std::move(way.placement());
  return true;
}

std::vector<int> fitting_placement(const balance_problem& p) {
  std::vector<int> placement = placement_after(p, {});
  if (!fit_memory(p, placement)) fail(p);
  return placement;
}

balance_plan better_plan(const balance_problem& p, std::vector<int> placement, worth_moving when) {
  const std::vector<int> present = placement_after(p, {});
  const bool fits_now = p.gpus.empty() || memory_excesses(p, present).empty();
  if (!fit_memory(p, placement)) return fits_now ? balance_plan{} : plan_to(p, fitting_placement(p));
  if (fits_now) {
    const double before = predicted_time(p, present);
    const double after = predicted_time(p, placement);
    if (after > before) return {};
    const bool is_shorter = after < before * (1 - rounding_of_sums);
    const bool has_fewer_bytes = !is_shorter && when == worth_moving::for_time_or_bytes &&
                                 bytes_between_pes(p, placement) < bytes_between_pes(p, present);
    if (!is_shorter && !has_fewer_bytes) return {};
  }
  return plan_to(p, placement);
}

}  // namespace imbrex::detail
