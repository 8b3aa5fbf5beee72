#include "stencil_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <vector>

#include "support/words/command_line.h"

namespace tiled_stencil {
namespace {

void read_devices(const std::vector<std::string>& words, options& o) {
  o.on_host = false;
  for (const std::string& w : words) {
    if (w == "host") {
      o.on_host = true;
    } else if ((w == "cuda" || w == "opencl") && !o.on_devices) {
      o.on_devices = w == "cuda" ? imbrex::device_kind::cuda : imbrex::device_kind::opencl;
    } else {
      throw imbrex::usage_error(fmt::format("--devices: {} is not among host, cuda and opencl, or one too many", w));
    }
  }
}

void check(const options& o) {
  apps::check_list("--n", {o.n}, 1, 1'000'000);
  apps::check_list("--tile", {o.tile}, 1, 46'340);
  if (o.n % o.tile != 0) throw imbrex::usage_error(fmt::format("--n {} is no multiple of --tile {}", o.n, o.tile));
  apps::check_list("--steps", {o.steps}, 1, 1'000'000'000);
  apps::check_list("--gpus", {o.gpus}, 1, 64);
  apps::check_list("--pes", {o.pes}, 0, 1024);
  apps::check_list("--ahead", {o.ahead}, 1, 1'000'000'000);
  apps::check_list("--repeats", {o.repeats}, 1, 1'000'000);
}

}  // namespace

std::string options::devices_text() const {
  if (!on_devices) return "the host";
  return fmt::format("{}{}", on_host ? "the host and " : "", to_string(*on_devices));
}

std::optional<options> parse_options(int argc, const char* const* argv) {
  CLI::App app("Jacobi's method on a grid of n by n cells by tiles: one graph of tasks over all ranks.",
               "tiled_stencil");
  app.footer(
      "Each rank owns a block of tiles, and computes them with its PEs and devices; of a tile, its four edges travel.\n"
      "The grid begins as a sine of each axis, and is compared with what that becomes. Bandwidths count 16 bytes for "
      "each\n"
      "cell and step. Options of the runtime start with --imbrex- and are passed over here; with mpirun or srun the "
      "same\n"
      "command runs over processes.");
  options o;
  std::vector<std::string> devices{"host"};
  bool unverified = false;
  app.add_option("--n", o.n, "cells in a row and in a column, besides the boundary")->capture_default_str();
  app.add_option("--tile", o.tile, "tiles are so large, and n a multiple of that")->capture_default_str();
  app.add_option("--steps", o.steps, "steps that are measured together")->capture_default_str();
  app.add_option("--devices", devices, "where tiles are computed: host, cuda or opencl, or the host and one of these")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--gpus", o.gpus, "of so many devices a rank")->capture_default_str();
  app.add_option("--pes", o.pes, "PEs of a rank; 0: one for each core that it has; with devices alone one for each")
      ->capture_default_str();
  app.add_option("--ahead", o.ahead, "tasks of a rank that may be in memory at once")->capture_default_str();
  app.add_flag("--no-verify", unverified, "do not check the grid");
  app.add_option("--repeats", o.repeats, "how often it is measured, after once for nothing; figures are medians")
      ->capture_default_str();
  app.add_option("--report", o.report, "write a JSON report");
  app.add_flag("--quiet", o.quiet, "print errors only");
  if (!apps::parse(app, argc, argv)) return std::nullopt;
  o.verify = !unverified;
  read_devices(devices, o);
  if (!o.on_devices) apps::refuse_without(app, "--devices cuda or opencl", {"--gpus"});
  apps::refuse_said_twice(app, argc, argv, {"--pes", "--gpus"});
  check(o);
  o.command = apps::command_of(argc, argv);
  return o;
}

}  // namespace tiled_stencil
