#include "factor_result.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host_routines.h"
#include "support/statistics.h"

namespace cholesky {

double result::gflops(int n) const {
  const double size = n;
  return 1e-9 / 3 * size * size * size / apps::statistics_of(seconds).median;
}

std::string text(const options& o, const result& r) {
  const apps::statistics s = apps::statistics_of(r.seconds);
  const int nt = o.n / o.tile;
  std::string said = fmt::format(
      "cholesky  n = {}, {} x {} tiles of {} x {} on {}; {} ranks of {} PEs\n{:.4g} GFLOP/s, {:.4g} ms, the least "
      "{:.4g} "
      "ms; median of {}\n",
      o.n, nt, nt, o.tile, o.tile, o.devices_text(), r.ranks, r.pes, r.gflops(o.n), s.median * 1e3, s.min * 1e3,
      r.seconds.size());
  if (!r.checked) return said;
  return said + fmt::format("{}: |L L^T x - A x| / |A x| <= {:.2g}\n", r.verified() ? "verified" : "WRONG", r.error);
}

std::string report_json(const options& o, const result& r) {
  using json = nlohmann::ordered_json;
  const apps::statistics s = apps::statistics_of(r.seconds);
  json j;
  j["app"] = "cholesky";
  j["command"] = o.command;
  j["n"] = o.n;
  j["tile"] = o.tile;
  j["on_host"] = o.on_host;
  j["gpus"] = o.on_gpus ? o.gpus : 0;
  j["ranks"] = r.ranks;
  j["pes"] = r.pes;
  j["library"] = host_library();
  j["seconds"] = {{"median", s.median}, {"min", s.min}, {"max", s.max}, {"repeats", r.seconds}};
  j["gflops"] = r.gflops(o.n);
  j["checked"] = r.checked;
  j["verified"] = r.verified();
  j["error"] = r.error;
  return j.dump(2) + "\n";
}

}  // namespace cholesky
