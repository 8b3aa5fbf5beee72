#include "result.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "support/output_place.h"
#include "support/statistics.h"

namespace jacobi {
namespace {

std::string plural(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string boundary_text(const boundary_condition& b) { return b.periodic ? "periodic" : fmt::format("{}", b.value); }

std::string initial_text(const initial_condition& i) {
  switch (i.kind) {
    case initial_kind::hot_face: return "hot-face";
    case initial_kind::random: return fmt::format("random:{}", i.seed);
    case initial_kind::sine: return "sine";
    case initial_kind::file: return i.input;
  }
  return "";
}

std::string formula_text(const stencil& s) {
  if (!s.weighted) return "mean of seven cells";
  return fmt::format("{}*c + {}*(sum of six neighbours)", s.alpha, s.beta);
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace

double result::odf() const { return double{1} * cx * cy * cz / (double{1} * pes * ranks); }

double result::cells_per_second() const {
  if (iteration_us.empty()) return 0;
  return static_cast<double>(grid.cells()) / apps::statistics_of(iteration_us).median * 1e6;
}

std::string header_text(const options& o, const result& known) {
  const std::string blocks = fmt::format("{} x {} x {}", known.cx, known.cy, known.cz);
  std::string text =
      fmt::format("jacobi3d  grid {} x {} x {}, {}\n", o.grid.nx, o.grid.ny, o.grid.nz, formula_text(o.formula));
  const std::int64_t count = std::int64_t{known.cx} * known.cy * known.cz;
  if (known.impl != implementation::mpi)
    text += fmt::format("  {} ({}), ODF {:g}, on {} of {} (map {})", plural(count, "chare"), blocks, known.odf(),
                        plural(known.ranks, "rank"), plural(known.pes, "PE"), name(o.map));
  else
    text += fmt::format("  {} ({}), one for each MPI rank, {}", plural(count, "block"), blocks,
                        known.overlap ? "interior, wait, exterior" : "bulk-synchronous");
  if (o.steps > 1 && o.steps != resident_steps) text += fmt::format(", {} iterations for each exchange", o.steps);
  text += fmt::format(", device {}, transport {}\n", known.device, known.transport);
  if (!known.why_no_gpu.empty()) text += fmt::format("  no GPU is used: {}\n", known.why_no_gpu);
  if (!known.gpu_strategy.empty()) text += fmt::format("  {}: {}\n", plural(known.gpus, "GPU"), known.gpu_strategy);
  if (!known.tuned.empty()) text += fmt::format("  tuned: {}\n", known.tuned);
  text += fmt::format("  init {}, boundary {}; {} of warm-up, {} of {}\n", initial_text(o.initial),
                      boundary_text(o.boundary), plural(o.warm_up, "iteration"), plural(o.repeats, "repeat"),
                      plural(o.iterations, "iteration"));
  return text;
}

std::string summary_text(const options& o, const result& r) {
  std::string text;
  if (r.converged)
    text += fmt::format("converged after {}: change {:.3e} below {:g}\n", plural(r.iterations, "iteration"),
                        r.change_norm.value_or(0), o.tolerance.value_or(0));
  else if (o.tolerance && r.change_norm)
    text += fmt::format("not converged after {}: change {:.3e}, tolerance {:g}\n", plural(r.iterations, "iteration"),
                        *r.change_norm, *o.tolerance);
  if (!r.iteration_us.empty()) {
    const apps::statistics t = apps::statistics_of(r.iteration_us);
    text += fmt::format("time per iteration  min {:.1f}  median {:.1f}  max {:.1f}  mean {:.1f} us\n", t.min, t.median,
                        t.max, t.mean);
    text += fmt::format("{:.3e} cells/s, {:.2f} GB/s\n", r.cells_per_second(), r.bytes_per_second() * 1e-9);
  }
  if (!o.balance.empty())
    text +=
        fmt::format("balanced by {}: {} in {}, efficiency at first {:.2f}, at last {:.2f}\n", o.balance,
                    plural(static_cast<std::int64_t>(r.balance_moves), "move"),
                    plural(static_cast<std::int64_t>(r.balance_looks), "look"), r.first_efficiency, r.last_efficiency);
  text += fmt::format("field hash {}\n", hash_text(r.field_hash));
  if (r.verified && r.verified->same_bits) text += "verified: the same bits as the serial reference\n";
  if (r.verified && !r.verified->same_bits)
    text += fmt::format("verification failed: differs from the serial reference by up to {:.3e}\n",
                        r.verified->max_abs_error);
  return text;
}

std::string report_json(const options& o, const result& r) {
  nlohmann::ordered_json j;
  j["app"] = "jacobi3d";
  j["grid"] = {r.grid.nx, r.grid.ny, r.grid.nz};
  j["chares"] = {r.cx, r.cy, r.cz};
  j["odf"] = r.odf();
  j["pes"] = r.pes;
  j["ranks"] = r.ranks;
  j["device"] = r.device;
  if (r.gpus > 0) {
    j["gpus"] = r.gpus;
    j["gpu_strategy"] = r.gpu_strategy;
  }
  j["transport"] = r.transport;
  j["impl"] = name(r.impl);
  j["overlap"] = r.overlap;
  j["steps"] = o.steps;
  j["resident"] = o.steps == resident_steps;
  j["tuned"] = r.tuned;
  j["imbalance"] = o.imbalance;
  j["wander"] = o.wander;
  if (!o.balance.empty()) {
    j["balance"] = {{"strategy", o.balance},
                    {"looks", r.balance_looks},
                    {"moves", r.balance_moves},
                    {"first_efficiency", r.first_efficiency},
                    {"last_efficiency", r.last_efficiency},
                    {"mean_efficiency", r.mean_efficiency},
                    {"every", o.balance_every}};
  }
  j["map"] = name(o.map);
  j["init"] = initial_text(o.initial);
  j["boundary"] = boundary_text(o.boundary);
  j["formula"] = formula_text(o.formula);
  j["warm_up"] = r.warm_up;
  j["iterations"] = r.iterations;
  j["repeats"] = o.repeats;
  j["time_per_iteration_us"] = nullptr;
  if (!r.iteration_us.empty()) {
    const apps::statistics t = apps::statistics_of(r.iteration_us);
    j["time_per_iteration_us"] = {{"min", t.min}, {"median", t.median}, {"max", t.max}, {"mean", t.mean}};
  }
  j["cells_per_second"] = r.cells_per_second();
  j["gb_per_second"] = r.bytes_per_second() * 1e-9;
  j["tolerance"] = o.tolerance ? nlohmann::ordered_json(*o.tolerance) : nlohmann::ordered_json();
  j["converged"] = r.converged;
  j["change_norm"] = r.change_norm ? nlohmann::ordered_json(*r.change_norm) : nlohmann::ordered_json();
  j["field_hash"] = hash_text(r.field_hash);
  j["verified"] = r.verified ? nlohmann::ordered_json(r.verified->same_bits) : nlohmann::ordered_json();
  j["max_abs_error"] = r.verified ? nlohmann::ordered_json(r.verified->max_abs_error) : nlohmann::ordered_json();
  return j.dump(2) + "\n";
}

void check_report_writable(const options& o) { apps::check_output(o.report); }

void write_report(const options& o, const result& r) {
  if (!o.report.empty()) apps::write_output(o.report, report_json(o, r));
}

int exit_code(const result& r) { return r.verified && !r.verified->same_bits ? 1 : 0; }

}  // namespace jacobi
