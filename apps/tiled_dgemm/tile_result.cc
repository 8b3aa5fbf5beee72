#include "tile_result.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "result.h"
#include "support/statistics.h"

namespace tiled_dgemm {

double point::gflops() const {
  const double size = n;
  return 2e-9 * size * size * size / apps::statistics_of(seconds).median;
}

std::string header_text(const options& o, const result& r) {
  std::string text = fmt::format("tiled_dgemm  tiles by {} on {}, {} ranks of {} PEs; {} repeats in turns\n",
                                 o.library ? "library" : "the dialect", o.devices_text(), r.ranks, r.pes, o.repeats);
  for (const std::string& d : r.devices) text += fmt::format("  {}\n", d);
  if (!r.library.empty()) text += fmt::format("  {}\n", r.library);
  return text;
}

std::string table_text(const options& o, const result& r) {
  std::string text =
      fmt::format("\n{:>6}  {:>6}  {:>10}  {:>9}  {:>9}  {:>9}\n", "n", "tile", "tasks", "GFLOP/s", "ms", "least ms");
  for (const point& p : r.points) {
    const apps::statistics s = apps::statistics_of(p.seconds);
    const std::int64_t num_tiles = p.tile == 0 ? 1 : p.n / p.tile;
    text += fmt::format("{:6}  {:>6}  {:>10}  {:9.4g}  {:9.4g}  {:9.4g}\n", p.n,
                        p.tile == 0 ? "whole" : std::to_string(p.tile),
                        p.tile == 0 ? "none" : std::to_string(num_tiles * num_tiles * num_tiles), p.gflops(),
                        s.median * 1e3, s.min * 1e3);
  }
  return text + fmt::format("medians of {}\n", o.repeats);
}

std::string report_json(const options& o, const result& r) {
  using json = nlohmann::ordered_json;
  json j;
  j["app"] = "tiled_dgemm";
  j["command"] = o.command;
  j["machine"] = {{"host", r.host}, {"cores", r.cores}, {"devices", r.devices}, {"library", r.library}};
  j["kernel"] = o.library ? "library" : "dialect";
  j["on_host"] = o.on_host;
  j["on_devices"] = o.on_devices ? to_string(*o.on_devices) : "";
  j["gpus"] = o.on_devices ? o.gpus : 0;
  j["ranks"] = r.ranks;
  j["pes"] = r.pes;
  j["resident"] = o.resident;
  j["repeats"] = o.repeats;
  j["points"] = json::array();
  for (const point& p : r.points) {
    const apps::statistics s = apps::statistics_of(p.seconds);
    j["points"].push_back({{"n", p.n},
                           {"tile", p.tile},
                           {"seconds", {{"median", s.median}, {"min", s.min}, {"max", s.max}, {"repeats", p.seconds}}},
                           {"gflops", p.gflops()}});
  }
  j["checked"] = o.verify;
  j["verified"] = o.verify && r.wrong.empty();
  j["wrong"] = r.wrong;
  return j.dump(2) + "\n";
}

}  // namespace tiled_dgemm
