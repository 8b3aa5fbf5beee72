#include "stencil_result.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/statistics.h"

namespace tiled_stencil {

namespace {
/// Bytes read and written once by each step.
double gigabytes(const options& o) { return 16e-9 * o.n * o.n * o.steps; }
}  // namespace

std::string text(const options& o, const result& r) {
  const apps::statistics s = apps::statistics_of(r.seconds);
  const int nt = o.n / o.tile;
  std::string said = fmt::format(
      "tiled_stencil  {} x {} cells in {} x {} tiles on {}; {} ranks of {} PEs\n{:.4g} us a step, the least {:.4g} us; "
      "{:.4g} GB/s; median of {}\n",
      o.n, o.n, nt, nt, o.devices_text(), r.ranks, r.pes, s.median * 1e6 / o.steps, s.min * 1e6 / o.steps,
      gigabytes(o) / s.median, r.seconds.size());
  if (!r.checked) return said;
  return said + fmt::format("{}: after {} steps the grid differs from the exact one by {:.2g}\n",
                            r.verified() ? "verified" : "WRONG", r.steps_done, r.error);
}

std::string report_json(const options& o, const result& r) {
  using json = nlohmann::ordered_json;
  const apps::statistics s = apps::statistics_of(r.seconds);
  json j;
  j["app"] = "tiled_stencil";
  j["command"] = o.command;
  j["n"] = o.n;
  j["tile"] = o.tile;
  j["steps"] = o.steps;
  j["on_host"] = o.on_host;
  j["on_devices"] = o.on_devices ? to_string(*o.on_devices) : "";
  j["gpus"] = o.on_devices ? o.gpus : 0;
  j["ranks"] = r.ranks;
  j["pes"] = r.pes;
  j["seconds"] = {{"median", s.median}, {"min", s.min}, {"max", s.max}, {"repeats", r.seconds}};
  j["us_a_step"] = s.median * 1e6 / o.steps;
  j["gigabytes_a_second"] = gigabytes(o) / s.median;
  j["checked"] = r.checked;
  j["verified"] = r.verified();
  j["error"] = r.error;
  return j.dump(2) + "\n";
}

}  // namespace tiled_stencil
