#include "factor_options.h"

#include <fmt/format.h>
#include <imbrex/imbrex.h>
#include <CLI/CLI.hpp>

#include "support/words/command_line.h"

namespace cholesky {
namespace {

void read_devices(const std::vector<std::string>& words, options& o) {
  o.on_host = false;
  for (const std::string& w : words) {
    if (w == "host") {
      o.on_host = true;
    } else if (w == "cuda") {
      o.on_gpus = true;
    } else {
      throw imbrex::usage_error(fmt::format("--devices {} is unknown: use host, cuda or host,cuda", w));
    }
  }
}

void check(const options& o) {
  apps::check_list("--n", {o.n}, 1, 1'000'000);
  apps::check_list("--tile", {o.tile}, 1, 32'768);
  if (o.n % o.tile != 0) throw imbrex::usage_error(fmt::format("--n {} is no multiple of --tile {}", o.n, o.tile));
  apps::check_list("--gpus", {o.gpus}, 1, 64);
  apps::check_list("--pes", {o.pes}, 0, 1024);
  apps::check_list("--ahead", {o.ahead}, 1, 1'000'000'000);
  apps::check_list("--repeats", {o.repeats}, 1, 1'000'000);
}

}  // namespace

std::optional<options> parse_options(int argc, const char* const* argv) {
  CLI::App app("A = L L^T of a symmetric positive definite matrix by tiles: one graph of tasks over all ranks.",
               "cholesky");
  app.footer(
      "Each rank owns tiles block-cyclically, and computes those that it owns with its PEs and GPUs. Figures count\n"
      "n^3 / 3 operations. Options of the runtime start with --imbrex- and are passed over here; with mpirun or srun "
      "the\n"
      "same command runs over processes.");
  options o;
  std::vector<std::string> devices{"host"};
  bool unverified = false;
  app.add_option("--n", o.n, "rows and columns")->capture_default_str();
  app.add_option("--tile", o.tile, "tiles are so large, and n a multiple of that")->capture_default_str();
  app.add_option("--devices", devices, "where tiles are computed: host (OpenBLAS), cuda (cuBLAS, cuSOLVER), or both")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--gpus", o.gpus, "of so many GPUs a rank")->capture_default_str();
  app.add_option("--pes", o.pes, "PEs of a rank; 0: one for each core that it has; with GPUs alone one for each")
      ->capture_default_str();
  app.add_option("--ahead", o.ahead, "tasks of a rank that may be in memory at once")->capture_default_str();
  app.add_flag("--no-verify", unverified, "do not check the factor");
  app.add_option("--repeats", o.repeats, "how often it is measured, after once for nothing; figures are medians")
      ->capture_default_str();
  app.add_option("--report", o.report, "write a JSON report");
  app.add_flag("--quiet", o.quiet, "print errors only");
  if (!apps::parse(app, argc, argv)) return std::nullopt;
  o.verify = !unverified;
  read_devices(devices, o);
  if (!o.on_gpus) apps::refuse_without(app, "--devices cuda", {"--gpus"});
  apps::refuse_said_twice(app, argc, argv, {"--pes", "--gpus"});
  check(o);
  o.command = apps::command_of(argc, argv);
  return o;
}

}  // namespace cholesky
