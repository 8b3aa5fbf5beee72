#include "imbrex/comm/data/switch_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace imbrex {

namespace {

using way = protocol_table::way;

constexpr double least_difference = 0.02;

double quartile_distance(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return values[(3 * (n - 1) + 2) / 4] - values[(n - 1) / 4];
}

/// The standard error of the median, from the quartiles (for normally distributed values).
double error_of_median(const std::vector<double>& values) {
  return 0.93 * quartile_distance(values) / std::sqrt(static_cast<double>(values.size()));
}

/// How much is lost at a size by going `taken`, where one could go `other`.
double loss(const std::vector<double>& taken, const std::vector<double>& other) {
  return clearly_ahead(other, taken) ? std::log(median(taken) / median(other)) : 0;
}

const way_times* find(const protocol_times& t, way by) {
  const auto found = std::ranges::find(t.ways, by, &way_times::by);
  return found == t.ways.end() ? nullptr : &*found;
}

/// Times when sizes up to `last` go by `before`.
times_by_size joined(const std::vector<std::uint64_t>& sizes, std::uint64_t last, const times_by_size& before,
                     const times_by_size& after) {
  times_by_size both;
  for (std::size_t i = 0; i < sizes.size(); ++i) both.push_back(sizes[i] <= last ? before[i] : after[i]);
  return both;
}

/// How much slower than the fastest staged way this one is, over the sizes that are cut: a mean of logarithms.
double slowness(const protocol_times& t, const way_times& w, std::uint64_t smallest_chunk) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < t.sizes.size(); ++i) {
    if (t.sizes[i] <= smallest_chunk) continue;
    double best = std::numeric_limits<double>::infinity();
    for (const way_times& other : t.ways) {
      if (other.by == way::staged) best = std::min(best, median(other.us[i]));
    }
    sum += std::log(median(w.us[i]) / best);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

/// The staged way with the best pieces; that with `usual` ones when it is as good. Null: none was measured.
const way_times* best_staged(const protocol_times& t, std::uint64_t usual) {
  std::uint64_t smallest = std::numeric_limits<std::uint64_t>::max();
  for (const way_times& w : t.ways) {
    if (w.by == way::staged) smallest = std::min(smallest, w.chunk_bytes);
  }
  const way_times* best = nullptr;
  double slowness_of_best = 0;
  for (const way_times& w : t.ways) {
    if (w.by != way::staged) continue;
    const double s = slowness(t, w, smallest) - (w.chunk_bytes == usual ? least_difference : 0);
    if (best != nullptr && s >= slowness_of_best) continue;
    best = &w;
    slowness_of_best = s;
  }
  return best;
}

void choose_device_points(const protocol_times& t, protocol_table& table) {
  times_by_size rest;  // of what is not packed, by the way chosen so far
  const auto add = [&](const way_times* w, std::uint64_t* last_before) {
    if (w == nullptr) return;
    if (rest.empty()) {
      rest = w->us;
      return;
    }
    if (const auto last = switch_point(t.sizes, rest, w->us)) *last_before = *last;
    rest = joined(t.sizes, *last_before, rest, w->us);
  };
  const way_times* staged = best_staged(t, table.chunk_bytes);
  if (staged != nullptr) table.chunk_bytes = staged->chunk_bytes;
  add(staged, nullptr);
  add(find(t, way::direct), &table.staged_device_bytes);
  // Sharing lets the host run ahead of the data, which the time of one message does not show: others of less time made
  // Jacobi3D slower (989 us against 953 at 768^3). So where it is possible it stays.
  if (find(t, way::shared) != nullptr) return;
  const way_times* packed = find(t, way::packed);
  if (packed == nullptr || rest.empty()) return;
  if (const auto last = switch_point(t.sizes, packed->us, rest))
    table.packed_device_bytes = std::min(*last, t.sizes.back());
  // What is packed anyway needs no other way.
  if (table.staged_device_bytes <= table.packed_device_bytes) table.staged_device_bytes = 0;
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

bool clearly_ahead(const std::vector<double>& a, const std::vector<double>& b) {
  const double noise = 2 * std::hypot(error_of_median(a), error_of_median(b));
  return median(b) - median(a) > std::max(noise, least_difference * median(b));
}

std::optional<std::uint64_t> switch_point(const std::vector<std::uint64_t>& sizes, const times_by_size& before,
                                          const times_by_size& after) {
  const std::size_t n = sizes.size();
  double all_after = 0, all_before = 0;
  for (std::size_t i = 0; i < n; ++i) {
    all_after += loss(after[i], before[i]);
    all_before += loss(before[i], after[i]);
  }
  if (all_after == 0 && all_before == 0) return std::nullopt;
  std::size_t best = 0;  // so many sizes go by `before`
  double least = all_after, lost = all_after;
  for (std::size_t i = 0; i < n; ++i) {
    lost += loss(before[i], after[i]) - loss(after[i], before[i]);
    if (lost > least + 1e-9) continue;
    least = std::min(least, lost);
    best = i + 1;
  }
  return best == 0 ? 0 : best == n ? protocol_table::always : sizes[best - 1];
}

protocol_table choose_points(const protocol_times& measured, const protocol_table& otherwise) {
  protocol_table table = otherwise;
  if (measured.of == memory_kind::device) {
    choose_device_points(measured, table);
    return table;
  }
  const way_times* packed = find(measured, way::packed);
  const way_times* direct = find(measured, way::direct);
  if (packed == nullptr || direct == nullptr) return table;
  if (const auto last = switch_point(measured.sizes, packed->us, direct->us))
    table.packed_host_bytes = std::min(*last, measured.sizes.back());
  return table;
}

}  // namespace imbrex
