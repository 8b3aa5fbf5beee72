#include "imbrex/balance/strategies/load_board.h"

namespace imbrex::detail {

std::vector<int> load_board::kinds_of(const std::vector<double>& rates) {
  std::vector<double> distinct = rates;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const std::size_t num_kinds = std::min(distinct.size(), most_kinds);
  std::vector<int> kinds;
  kinds.reserve(rates.size());
  for (const double r : rates) {
    const auto place = static_cast<std::size_t>(std::ranges::lower_bound(distinct, r) - distinct.begin());
    kinds.push_back(static_cast<int>(place * num_kinds / distinct.size()));
  }
  return kinds;
}

void load_board::take_pes(const balance_problem& p) {
  std::vector<double> rates;
  rates.reserve(p.pes.size());
  for (const balance_pe& pe : p.pes) rates.push_back(pe.rate);
  const std::vector<int> kinds = kinds_of(rates);
  of_pes_.resize(static_cast<std::size_t>(*std::ranges::max_element(kinds)) + 1);
  pes_.resize(p.pes.size());
  for (std::size_t i = 0; i < pes_.size(); ++i) {
    pe_state& s = pes_[i];
    s.time = p.pes[i].background_seconds;
    s.seconds_per_work = 1 / p.pes[i].rate;
    s.gpu = p.pes[i].gpu;
    s.kind = kinds[i];
    std::vector<int>& same = of_pes_[static_cast<std::size_t>(s.kind)].members;
    s.slot = static_cast<int>(same.size());
    same.push_back(static_cast<int>(i));
  }
  for (rate_kind& k : of_pes_) k.by_time = least_tree(k.members.size());
}

void load_board::take_gpus(const balance_problem& p) {
  if (p.gpus.empty()) return;
  std::vector<double> rates;
  rates.reserve(p.gpus.size());
  for (const balance_gpu& g : p.gpus) rates.push_back(g.rate);
  const std::vector<int> kinds = kinds_of(rates);
  of_gpus_.resize(static_cast<std::size_t>(*std::ranges::max_element(kinds)) + 1);
  gpus_.resize(p.gpus.size());
  for (std::size_t i = 0; i < pes_.size(); ++i) {
    if (pes_[i].gpu == no_gpu) continue;
    std::vector<int>& same = gpus_[static_cast<std::size_t>(pes_[i].gpu)].pes;
    pes_[i].slot_at_gpu = static_cast<int>(same.size());
    same.push_back(static_cast<int>(i));
  }
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    gpu_state& g = gpus_[i];
    g.time = p.gpus[i].background_seconds;
    g.seconds_per_work = 1 / p.gpus[i].rate;
    g.room = p.gpus[i].memory_bytes;
    g.kind = kinds[i];
    g.of_pes = least_tree(g.pes.size());
    std::vector<int>& same = of_gpus_[static_cast<std::size_t>(g.kind)].members;
    g.slot = static_cast<int>(same.size());
    same.push_back(static_cast<int>(i));
  }
  for (rate_kind& k : of_gpus_) k.by_time = least_tree(k.members.size());
}

load_board::load_board(const balance_problem& p, std::span<const int> placement) {
  take_pes(p);
  take_gpus(p);
  for (std::size_t i = 0; i < placement.size(); ++i) {
    if (placement[i] < 0) continue;
    const balance_element& e = p.elements[i];
    pe_state& s = pes_[static_cast<std::size_t>(placement[i])];
    s.time += e.host_seconds * s.seconds_per_work;
    if (!e.needs_gpu()) continue;
    gpu_state& g = gpus_[static_cast<std::size_t>(s.gpu)];
    g.time += e.gpu_seconds * g.seconds_per_work;
    if (g.room != unlimited_bytes) g.room -= std::min(g.room, e.device_bytes);
  }
  for (std::size_t i = 0; i < pes_.size(); ++i) note_pe(static_cast<int>(i));
}

double load_board::longest_time() const {
  double longest = 0;
  for (const pe_state& s : pes_) longest = std::max(longest, s.time);
  for (const gpu_state& g : gpus_) longest = std::max(longest, g.time);
  return longest;
}

bool load_board::fits(const balance_element& e, int pe) const {
  if (!e.needs_gpu()) return true;
  const int gpu = pes_[static_cast<std::size_t>(pe)].gpu;
  return gpu != no_gpu && gpus_[static_cast<std::size_t>(gpu)].room >= e.device_bytes;
}

void load_board::note_pe(int pe) {
  const pe_state& s = pes_[static_cast<std::size_t>(pe)];
  of_pes_[static_cast<std::size_t>(s.kind)].by_time.set(s.slot, s.time);
  if (s.gpu == no_gpu) return;
  gpus_[static_cast<std::size_t>(s.gpu)].of_pes.set(s.slot_at_gpu, s.time);
  note_gpu(s.gpu);
}

void load_board::note_gpu(int gpu) {
  const gpu_state& g = gpus_[static_cast<std::size_t>(gpu)];
  least_tree& all = of_gpus_[static_cast<std::size_t>(g.kind)].by_time;
  all.set(g.slot, std::max(g.time, g.of_pes.key(g.of_pes.least())));
  all.set_room(g.slot, g.room);
}

void load_board::change(const balance_element& e, int pe, int sign) {
  pe_state& s = pes_[static_cast<std::size_t>(pe)];
  s.time += sign * (e.host_seconds * s.seconds_per_work);
  if (e.needs_gpu()) {
    gpu_state& g = gpus_[static_cast<std::size_t>(s.gpu)];
    g.time += sign * (e.gpu_seconds * g.seconds_per_work);
    if (g.room != unlimited_bytes) g.room = sign > 0 ? g.room - e.device_bytes : g.room + e.device_bytes;
  }
  note_pe(pe);
}

int load_board::earliest(const balance_element& e) const {
  if (e.needs_gpu()) return earliest_on_gpus(e);
  int best = -1;
  double best_end = 0;
  for (const rate_kind& k : of_pes_) {
    const int pe = k.members[static_cast<std::size_t>(k.by_time.least())];
    const double then = end(e, pe);
    if (best < 0 || then < best_end || (then == best_end && pe < best)) {
      best = pe;
      best_end = then;
    }
  }
  return best;
}

int load_board::earliest_on_gpus(const balance_element& e) const {
  int best = -1;
  double best_end = 0;
  for (const rate_kind& k : of_gpus_) {
    const int slot = k.by_time.least_with_room(e.device_bytes);
    if (slot < 0) continue;
    const gpu_state& g = gpus_[static_cast<std::size_t>(k.members[static_cast<std::size_t>(slot)])];
    const int pe = g.pes[static_cast<std::size_t>(g.of_pes.least())];
    const double then = end(e, pe);
    if (best < 0 || then < best_end || (then == best_end && pe < best)) {
      best = pe;
      best_end = then;
    }
  }
  return best;
}

}  // namespace imbrex::detail
