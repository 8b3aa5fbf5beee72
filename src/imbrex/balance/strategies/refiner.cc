#include "imbrex/balance/strategies/refiner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "imbrex/balance/balance_plan.h"
#include "imbrex/balance/strategies/partner_bytes.h"

namespace imbrex::detail {

namespace {

constexpr double rounding = 1e-9;
constexpr int most_levels = 12;

std::size_t at(int number) { return static_cast<std::size_t>(number); }

/// Elements that can move by the PE, or GPU, where they are at first, the lightest first. Sorted when they are asked
/// for.
class elements_by_place {
 public:
  template <class PlaceOf>
  elements_by_place(const balance_problem& p, std::size_t num_places, double balance_element::* weight,
                    PlaceOf place_of)
      : p_(p), weight_(weight), first_(num_places + 1), is_sorted_(num_places) {
    const auto counts = [&](std::size_t i) { return !p.elements[i].pinned && p.elements[i].*weight > 0; };
    for (std::size_t i = 0; i < p.elements.size(); ++i) {
      if (counts(i)) ++first_[place_of(i) + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    elements_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::size_t i = 0; i < p.elements.size(); ++i) {
      if (counts(i)) elements_[next[place_of(i)]++] = static_cast<int>(i);
    }
  }
  std::span<const int> operator[](std::size_t place) {
    const std::span<int> all(elements_.data() + first_[place], first_[place + 1] - first_[place]);
    if (!is_sorted_[place]) {
      std::ranges::sort(all, [this](int a, int b) {
        const double wa = p_.elements[at(a)].*weight_;
        const double wb = p_.elements[at(b)].*weight_;
        return wa != wb ? wa < wb : a > b;
      });
      is_sorted_[place] = true;
    }
    return all;
  }

 private:
  const balance_problem& p_;
  double balance_element::* weight_;
  std::vector<std::size_t> first_;
  std::vector<int> elements_;
  std::vector<bool> is_sorted_;
};

/// Tries one level after the other, each from the same beginning.
class level_search {
 public:
  level_search(const balance_problem& p, const std::vector<int>& start, const refinement& how)
      : p_(p),
        how_(how),
        start_(start),
        start_board_(p, start),
        on_pe_(p, p.pes.size(), &balance_element::host_seconds, [&](std::size_t i) { return at(start[i]); }),
        on_gpu_(p, p.gpus.size(), &balance_element::gpu_seconds,
                [&](std::size_t i) { return at(p.pes[at(start[i])].gpu); }),
        board_(start_board_) {}

  std::vector<int> lowest() {
    std::vector<int> best = start_;
    double high = start_board_.longest_time();
    double low = least_possible_time(p_);
    double level = low * (1 + how_.tolerance);
    for (int i = 0; i < most_levels && high > level * (1 + rounding); ++i) {
      try_level(level);
      const double reached = board_.longest_time();
      if (reached < high * (1 - rounding)) {
        best = placement_;
        high = reached;
      }
      if (reached > level * (1 + rounding)) low = level;
      if (i == 0 && reached <= level * (1 + rounding)) break;
      level = (low + high) / 2;
      if (high - low <= how_.tolerance / 4 * high) break;
    }
    return best;
  }

 private:
  void try_level(double level) {
    placement_ = start_;
    board_ = start_board_;
    level_ = level * (1 + rounding);
    for (const int g : above(p_.gpus.size(), [this](int i) { return start_board_.gpu_time(i); })) relieve_gpu(g);
    for (const int pe : above(p_.pes.size(), [this](int i) { return board_.pe_time(i); })) relieve_pe(pe);
  }

  /// Those above the level, the longest time first.
  template <class TimeOf>
  std::vector<int> above(std::size_t num, TimeOf time_of) const {
    std::vector<int> all;
    for (std::size_t i = 0; i < num; ++i) {
      if (time_of(static_cast<int>(i)) > level_) all.push_back(static_cast<int>(i));
    }
    std::ranges::sort(all, [&](int a, int b) { return time_of(a) != time_of(b) ? time_of(a) > time_of(b) : a < b; });
    return all;
  }

  void relieve_pe(int pe) {
    const double rate = p_.pes[at(pe)].rate;
    relieve(on_pe_[at(pe)], &balance_element::host_seconds, [&, rate] { return (board_.pe_time(pe) - level_) * rate; });
  }
  void relieve_gpu(int gpu) {
    const double rate = p_.gpus[at(gpu)].rate;
    relieve(on_gpu_[at(gpu)], &balance_element::gpu_seconds,
            [&, rate] { return (board_.gpu_time(gpu) - level_) * rate; });
  }

  /// One that is enough if there is one, the lightest of those, else the heaviest, and so on to lighter ones.
  template <class Excess>
  void relieve(std::span<const int> elements, double balance_element::* weight, Excess excess) {
    std::size_t end = elements.size();
    while (end > 0) {
      const double too_much = excess();
      if (too_much <= 0) return;
      const auto enough = std::lower_bound(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(end),
                                           too_much, [&](int e, double w) { return p_.elements[at(e)].*weight < w; });
      end = std::min(static_cast<std::size_t>(enough - elements.begin()), end - 1);
      give_away(elements[end]);
    }
  }

  void give_away(int element) {
    const balance_element& e = p_.elements[at(element)];
    const int from = placement_[at(element)];
    if (from != start_[at(element)]) return;  // gone already, for its GPU's sake
    int to = how_.near_partners ? near_partners(element) : -1;
    if (to < 0) to = board_.earliest(e);
    if (to < 0 || to == from || board_.end(e, to) > level_) return;
    board_.remove(e, from);
    board_.add(e, to);
    placement_[at(element)] = to;
  }

  /// The PE with room with which it exchanges most, or -1.
  int near_partners(int element) {
    int best = -1;
    double most = 0;
    const balance_element& e = p_.elements[at(element)];
    for (const auto& [pe, bytes] : partners_.of(p_.communication, element, placement_)) {
      if (bytes <= most || pe == placement_[at(element)]) continue;
      if (!board_.fits(e, pe) || board_.end(e, pe) > level_) continue;
      best = pe;
      most = bytes;
    }
    return best;
  }

  const balance_problem& p_;
  refinement how_;
  const std::vector<int>& start_;
  const load_board start_board_;
  elements_by_place on_pe_;
  elements_by_place on_gpu_;
  partner_bytes partners_;
  double level_ = 0;
  std::vector<int> placement_;
  load_board board_;
};

/// What a byte between two PEs counts.
double distance(const balance_pe& a, const balance_pe& b) {
  if (a.node != b.node) return 4;
  return a.rank != b.rank ? 2 : 1;
}

}  // namespace

double least_possible_time(const balance_problem& p) {
  std::vector<int> pinned = placement_after(p, {});
  double host = 0;
  double gpu = 0;
  double heaviest = 0;
  double heaviest_gpu = 0;
  for (std::size_t i = 0; i < p.elements.size(); ++i) {
    const balance_element& e = p.elements[i];
    if (e.pinned) continue;
    pinned[i] = -1;
    host += e.host_seconds;
    gpu += e.gpu_seconds;
    heaviest = std::max(heaviest, e.host_seconds);
    heaviest_gpu = std::max(heaviest_gpu, e.gpu_seconds);
  }
  const load_board board(p, pinned);
  double rates = 0;
  double fastest = 0;
  double longest = board.longest_time();
  for (std::size_t i = 0; i < p.pes.size(); ++i) {
    host += board.pe_time(static_cast<int>(i)) * p.pes[i].rate;
    rates += p.pes[i].rate;
    fastest = std::max(fastest, p.pes[i].rate);
  }
  longest = std::max({longest, host / rates, heaviest / fastest});
  if (p.gpus.empty()) return longest;
  rates = fastest = 0;
  for (std::size_t i = 0; i < p.gpus.size(); ++i) {
    gpu += board.gpu_time(static_cast<int>(i)) * p.gpus[i].rate;
    rates += p.gpus[i].rate;
    fastest = std::max(fastest, p.gpus[i].rate);
  }
  return std::max({longest, gpu / rates, heaviest_gpu / fastest});
}

std::vector<int> refined(const balance_problem& p, std::vector<int> placement, const refinement& how) {
  refinement h = how;
  h.near_partners = how.near_partners && !p.communication.empty();
  std::vector<int> found = level_search(p, placement, h).lowest();
  const bool is_mixed = std::ranges::any_of(p.pes, [](const balance_pe& pe) { return pe.gpu == no_gpu; }) &&
                        std::ranges::any_of(p.elements, [](const balance_element& e) { return e.needs_gpu(); });
  if (!is_mixed) return found;
  // PEs with a GPU may have to make room for those who need it: these first, as if there were no others.
  balance_problem gpu_work{p.elements, {}, {}, 0, p.pes, p.gpus};
  for (balance_element& e : gpu_work.elements) {
    if (!e.needs_gpu() && !e.pinned) e.host_seconds = 0;
  }
  placement = level_search(gpu_work, placement, {how.tolerance, false}).lowest();
  std::vector<int> other = level_search(p, placement, h).lowest();
  return predicted_time(p, other) < predicted_time(p, found) ? other : found;
}

void draw_together(const balance_problem& p, std::vector<int>& placement, double level) {
  if (p.communication.empty()) return;
  constexpr int most_passes = 6;
  load_board board(p, placement);
  partner_bytes partners;
  level *= 1 + rounding;
  for (int pass = 0; pass < most_passes; ++pass) {
    std::size_t num_moved = 0;
    for (std::size_t i = 0; i < p.elements.size(); ++i) {
      const balance_element& e = p.elements[i];
      if (e.pinned) continue;
      const auto& near = partners.of(p.communication, static_cast<int>(i), placement);
      if (near.empty() || (near.size() == 1 && near[0].first == placement[i])) continue;
      const auto cost = [&](int pe) {
        double sum = 0;
        for (const auto& [other, bytes] : near)
          sum += pe == other ? 0 : bytes * distance(p.pes[at(pe)], p.pes[at(other)]);
        return sum;
      };
      int best = placement[i];
      double least = cost(best);
      for (const auto& [pe, bytes] : near) {
        if (pe == placement[i] || !board.fits(e, pe) || board.end(e, pe) > level) continue;
        if (const double c = cost(pe); c < least * (1 - rounding)) {
          best = pe;
          least = c;
        }
      }
      if (best == placement[i]) continue;
      board.remove(e, placement[i]);
      board.add(e, best);
      placement[i] = best;
      ++num_moved;
    }
    if (num_moved * 1000 <= p.elements.size()) return;
  }
}

}  // namespace imbrex::detail
