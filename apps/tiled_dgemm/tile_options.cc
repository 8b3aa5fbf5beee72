#include "tile_options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "options.h"
#include "support/words/command_line.h"

namespace tiled_dgemm {
namespace {

void read_devices(const std::vector<std::string>& words, options& o) {
  o.on_host = false;
  for (const std::string& w : words) {
    const imbrex::device_kind k = dgemm::parse_device(w, "--devices");
    if (k == imbrex::device_kind::host) {
      o.on_host = true;
    } else if (o.on_devices.has_value() && *o.on_devices != k) {
      throw imbrex::usage_error("--devices takes cuda or opencl, not both");
    } else {
      o.on_devices = k;
    }
  }
}

void check(const options& o, const std::string& kernel) {
  apps::check_list("--n", o.sizes, 16, 65536, 16);
  apps::check_list("--tile", o.tiles, 16, 65536, 16);
  for (const int n : o.sizes) {
    for (const int t : o.tiles) {
      if (n % t != 0) throw imbrex::usage_error(fmt::format("--n {} is no multiple of --tile {}", n, t));
    }
  }
  apps::check_list("--repeats", {o.repeats}, 1, 1'000'000);
  apps::check_list("--gpus", {o.gpus}, 1, 64);
  apps::check_list("--pes", {o.pes}, 0, 256);
  apps::check_list("--ahead", {o.ahead}, 1, 1'000'000'000);
  if (kernel != "dialect" && kernel != "library")
    throw imbrex::usage_error(fmt::format("--kernel {} is unknown: use dialect or library", kernel));
  if (o.library && o.on_devices == imbrex::device_kind::opencl)
    throw imbrex::usage_error("--kernel library is for the host and cuda: use --kernel dialect with opencl");
}

}  // namespace

std::string options::devices_text() const {
  const std::string more = on_devices ? to_string(*on_devices) : "";
  return on_host ? more.empty() ? "host" : "host and " + more : more;
}

std::optional<options> parse_options(int argc, const char* const* argv) {
  CLI::App app("One large matrix product as tasks C_ij += A_ik B_kj of tiles, over all devices and PEs.",
               "tiled_dgemm");
  app.footer(
      "A graph of tasks, which the runtime places on PEs and devices of all processes. All sizes of tiles are measured "
      "in\nturns. Options of the runtime start with --imbrex- and are passed over here; with mpirun or srun the same "
      "program\nruns over processes.");
  options o;
  std::vector<std::string> devices{"host"};
  std::string kernel = "dialect";
  bool unverified = false;
  app.add_option("--n", o.sizes, "matrices are n by n: a list")->delimiter(',')->capture_default_str();
  app.add_option("--tile", o.tiles, "tiles are so large: a list, of multiples of 16")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--kernel", kernel, "of a tile: dialect (one source), or library (OpenBLAS, cuBLAS)")
      ->capture_default_str();
  app.add_option("--devices", devices, "where tiles are computed: host, cuda, opencl, or host and one of the others")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--gpus", o.gpus, "of so many devices of a process")->capture_default_str();
  app.add_option("--pes", o.pes,
                 "PEs of a process; 0: one for each core where the host computes, else one for each device")
      ->capture_default_str();
  app.add_option("--ahead", o.ahead, "tasks of a rank that may be in memory at once")->capture_default_str();
  app.add_flag("--resident", o.resident, "inputs stay on the devices: their transfer is not measured");
  app.add_flag("--no-verify", unverified, "do not check the product");
  app.add_option("--repeats", o.repeats, "how often everything is measured; figures are medians")
      ->capture_default_str();
  app.add_option("--report", o.report, "write a JSON report");
  app.add_flag("--quiet", o.quiet, "print errors only");
  if (!apps::parse(app, argc, argv)) return std::nullopt;
  o.verify = !unverified;
  o.library = kernel == "library";
  read_devices(devices, o);
  if (!o.on_devices) apps::refuse_without(app, "--devices cuda or opencl", {"--gpus", "--resident"});
  apps::refuse_said_twice(app, argc, argv, {"--pes", "--gpus"});
  check(o, kernel);
  o.command = apps::command_of(argc, argv);
  return o;
}

}  // namespace tiled_dgemm
