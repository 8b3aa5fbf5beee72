#include "result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include "support/statistics.h"

namespace dgemm {
namespace {

using json = nlohmann::ordered_json;

struct column {
  int gpus, pes;
  variant by;
  bool operator==(const column&) const = default;
};

std::vector<column> columns_of(const result& r) {
  std::vector<column> all;
  for (const point& p : r.points) {
    const column c{p.gpus, p.pes, p.by};
    if (std::ranges::find(all, c) == all.end()) all.push_back(c);
  }
  return all;
}

std::string title(const options& o, const column& c) {
  if (o.gpus.size() * o.pes.size() == 1 || c.by == variant::naive) return name(c.by);
  return fmt::format("{} {}d{}p", name(c.by), c.gpus, c.pes);
}

std::string table(const options& o, const result& r, const std::string& heading,
                  const std::function<std::string(const point&)>& cell) {
  const std::vector<column> columns = columns_of(r);
  std::string text = fmt::format("\n{}\n{:>6}", heading, "n");
  for (const column& c : columns) text += fmt::format("  {:>14}", title(o, c));
  for (const int n : o.sizes) {
    text += fmt::format("\n{:6}", n);
    for (const column& c : columns) {
      const auto at =
          std::ranges::find_if(r.points, [&](const point& p) { return p.n == n && column{p.gpus, p.pes, p.by} == c; });
      text += fmt::format("  {:>14}", at == r.points.end() ? "-" : cell(*at));
    }
  }
  return text + "\n";
}

}  // namespace

double point::gflops(int iterations) const {
  const double size = n;
  return 2e-9 * size * size * size * iterations / apps::statistics_of(seconds).median;
}

const point* result::reference(int n) const {
  for (const point& p : points) {
    if (p.n == n) return &p;  // the variants of a size are in order
  }
  return nullptr;
}

double result::speedup(const point& p) const {
  return apps::statistics_of(reference(p.n)->seconds).median / apps::statistics_of(p.seconds).median;
}

std::string header_text(const options& o, const result& r) {
  std::string text = fmt::format("dgemm  {} products of each size on {}; {} repeats in turns\n", o.iterations,
                                 fmt::join(r.devices, ", "), o.repeats);
  for (const auto& [what, why] : r.not_run) text += fmt::format("  not measured: {}: {}\n", what, why);
  return text;
}

std::string tables_text(const options& o, const result& r) {
  if (r.points.empty()) return "";
  std::string text = table(o, r, fmt::format("GFLOP/s, median of {}; NdMp: N devices, M PEs", o.repeats),
                           [&](const point& p) { return fmt::format("{:.4g}", p.gflops(o.iterations)); });
  text += table(o, r, fmt::format("speed over {}", name(r.points.front().by)),
                [&](const point& p) { return fmt::format("{:.2f}", r.speedup(p)); });
  return text;
}

std::string report_json(const options& o, const result& r) {
  json j;
  j["app"] = "dgemm";
  j["command"] = o.command;
  j["machine"] = {{"host", r.host}, {"cores", r.cores}, {"devices", r.devices}};
  j["device"] = to_string(o.device);
  j["iterations"] = o.iterations;
  j["repeats"] = o.repeats;
  j["streams"] = o.lanes;
  j["sizes"] = o.sizes;
  j["gpus"] = o.gpus;
  j["pes"] = o.pes;
  j["variants"] = json::array();
  for (const variant v : r.run) j["variants"].push_back(name(v));
  j["not_measured"] = json::object();
  for (const auto& [what, why] : r.not_run) j["not_measured"][what] = why;
  j["reference"] = r.points.empty() ? "" : name(r.points.front().by);
  j["points"] = json::array();
  for (const point& p : r.points) {
    const apps::statistics s = apps::statistics_of(p.seconds);
    j["points"].push_back({{"size", p.n},
                           {"gpus", p.gpus},
                           {"pes", p.pes},
                           {"variant", name(p.by)},
                           {"seconds", {{"median", s.median}, {"min", s.min}, {"max", s.max}, {"repeats", p.seconds}}},
                           {"gflops", p.gflops(o.iterations)},
                           {"speedup", r.speedup(p)}});
  }
  j["verified"] = r.wrong.empty();
  j["wrong"] = r.wrong;
  return j.dump(2) + "\n";
}

}  // namespace dgemm
