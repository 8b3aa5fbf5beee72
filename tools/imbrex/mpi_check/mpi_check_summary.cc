#include "mpi_check_summary.h"

#include <imbrex/base/hash.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace mpi_check {

namespace {

// Between neighbours where the place falls between two values.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

std::vector<double> each(const series& s, const std::function<double(const run&)>& value) {
  std::vector<double> all;
  all.reserve(s.runs.size());
  for (const run& r : s.runs) all.push_back(value(r));
  return all;
}

std::vector<double> paired(const series& s, const series& plain,
                           const std::function<double(double seconds, double plain_seconds)>& value) {
  std::vector<double> all;
  all.reserve(s.runs.size());
  for (std::size_t i = 0; i < s.runs.size(); ++i) all.push_back(value(s.runs[i].seconds, plain.runs[i].seconds));
  return all;
}

variant_summary summarize_variant(const series& s, const series& plain) {
  const auto ratio = [](double x, double p) { return p > 0 ? x / p : 1; };
  return {.what = s.what,
          .num_runs = s.runs.size(),
          .seconds = quartiles_of(each(s, [](const run& r) { return r.seconds; })),
          .wall_s = quartiles_of(each(s, [](const run& r) { return r.wall_s; })),
          .against_plain = interval_of(paired(s, plain, ratio)),
          .added_s = median_of(paired(s, plain, std::minus<>()))};
}

using counts = nlohmann::ordered_json;

// The median over the rounds of something counted of one routine; 0 in rounds where it was not called.
double over_rounds(const series* s, const std::function<const counts*(const run&)>& find, const char* member) {
  if (s == nullptr) return 0;
  return median_of(each(*s, [&](const run& r) {
    const counts* found = find(r);
    return found == nullptr ? 0.0 : found->at(member).get<double>();
  }));
}

routine_summary summarize_routine(const result& r, const std::string& name,
                                  const std::function<const counts*(const run&)>& find) {
  const series* counted = r.find("counted");
  const series* injected = r.find("injected");
  const series* elided = r.find("elided");
  const auto of = [&](const series* s, const char* member) { return over_rounds(s, find, member); };
  return {.name = name,
          .calls = of(counted, "calls"),
          .checks = of(counted, "checks"),
          .checks_per_s = of(counted, "checks_per_s"),
          .bytes_sent = of(counted, "bytes_sent"),
          .bytes_received = of(counted, "bytes_received"),
          .own_queries = of(counted, "queries"),
          .own_query_s = of(counted, "query_ns") * 1e-9,
          .injected_s = of(injected, "query_ns") * 1e-9,
          .elided_s = of(elided, "query_ns") * 1e-9,
          .elided_by = {of(elided, "declared"), of(elided, "cached"), of(elided, "host")}};
}

std::function<const counts*(const run&)> finder(const std::string& name) {
  return [name](const run& r) -> const counts* {
    for (const counts& row : r.report["routines"]) {
      if (row["name"] == name) return &row;
    }
    return nullptr;
  };
}

// What is said of rank number `index`, of one routine or (with an empty name) of all.
double of_rank(const run& r, std::size_t index, const std::string& routine, const char* member) {
  double sum = 0;
  for (const counts& row : r.report["per_rank"][index]["routines"]) {
    if (routine.empty() || row["name"] == routine) sum += row[member].get<double>();
  }
  return sum;
}

rank_summary summarize_rank(const result& r, const summary& s, std::size_t index) {
  const series& counted = *r.find("counted");
  const auto of = [&](const series& v, const std::string& routine, const char* member) {
    return median_of(each(v, [&](const run& x) { return of_rank(x, index, routine, member); }));
  };
  const counts& first = counted.runs.front().report["per_rank"][index];
  rank_summary rank;
  rank.rank = first["rank"];
  rank.host = first["host"];
  rank.seconds = median_of(
      each(r.all.front(), [&](const run& x) { return x.report["per_rank"][index]["seconds"].get<double>(); }));
  rank.checks = of(counted, "", "checks");
  rank.injected_s = of(*r.find("injected"), "", "query_ns") * 1e-9;
  for (const routine_summary& row : s.routines) rank.checks_by_routine.push_back(of(counted, row.name, "checks"));
  return rank;
}

std::vector<std::string> names_of_routines(const result& r) {
  std::vector<std::string> names;
  for (const series& s : r.all) {
    for (const counts& row : s.runs.front().report["routines"]) {
      const std::string name = row["name"];
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

bool all_have_drivers(const run& r) {
  return std::ranges::all_of(r.report["per_rank"], [](const counts& rank) { return rank["has_driver"].get<bool>(); });
}

}  // namespace

spread quartiles_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)};
}

spread interval_of(const std::vector<double>& values) {
  const auto [least, greatest] = std::ranges::minmax(values);
  if (values.size() < 3) return {median_of(values), least, greatest};
  constexpr int num_resamples = 2000;
  imbrex::random_sequence random(1);
  std::vector<double> medians;
  for (int i = 0; i < num_resamples; ++i) {
    std::vector<double> resample;
    resample.reserve(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) resample.push_back(values[random.below(values.size())]);
    medians.push_back(median_of(std::move(resample)));
  }
  std::ranges::sort(medians);
  return {median_of(values), quantile(medians, 0.025), quantile(medians, 0.975)};
}

summary summarize(const result& r) {
  const series& plain = r.all.front();
  const counts& report = plain.runs.front().report;
  summary s;
  s.mpi = report["mpi"];
  s.ranks = report["ranks"];
  for (const series& v : r.all) s.variants.push_back(summarize_variant(v, plain));
  s.rank_seconds = s.variants.front().seconds.median * s.ranks;
  s.has_driver = all_have_drivers(r.find("injected")->runs.front());
  for (const std::string& name : names_of_routines(r)) {
    const routine_summary row = summarize_routine(r, name, finder(name));
    if (row.calls > 0 || row.own_queries > 0 || row.injected_s > 0) s.routines.push_back(row);
  }
  std::ranges::sort(s.routines, [](const routine_summary& a, const routine_summary& b) {
    return std::tie(b.injected_s, b.checks, a.name) < std::tie(a.injected_s, a.checks, b.name);
  });
  s.total = summarize_routine(r, "in all", [](const run& run) { return &run.report["total"]; });
  for (std::size_t i = 0; i < static_cast<std::size_t>(s.ranks); ++i) s.per_rank.push_back(summarize_rank(r, s, i));
  return s;
}

}  // namespace mpi_check
