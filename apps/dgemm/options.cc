#include "options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

#include "support/words/command_line.h"

namespace dgemm {
namespace {

constexpr int tile = 16;  // of the kernel

std::string footer() {
  std::string text = "Variants, each with what those before it have:\n";
  for (const variant v : all_variants) text += fmt::format("  {:12}{}\n", name(v), description(v));
  return text +
         "\nAll variants of a size are measured in turns. Options of the runtime start with --imbrex- and are passed "
         "over\nhere.";
}

void check_numbers(const options& o) {
  constexpr int many = 1'000'000;
  apps::check_list("--sizes", o.sizes, tile, 8192, tile);
  apps::check_list("--iterations", {o.iterations}, 1, many);
  apps::check_list("--repeats", {o.repeats}, 1, many);
  apps::check_list("--gpus", o.gpus, 1, 64);
  apps::check_list("--pes", o.pes, 1, 256);
  apps::check_list("--streams", {o.lanes}, 1, 64);
  if (o.device == imbrex::device_kind::host && o.most_gpus() > 1)
    throw imbrex::usage_error("--gpus is for --device cuda or opencl: the host is one device of each PE");
}

}  // namespace

int options::most_gpus() const { return *std::ranges::max_element(gpus); }
int options::most_pes() const { return *std::ranges::max_element(pes); }

imbrex::device_kind parse_device(const std::string& text, const char* option) {
  for (const auto k : {imbrex::device_kind::host, imbrex::device_kind::cuda, imbrex::device_kind::opencl}) {
    if (text == to_string(k)) return k;
  }
  throw imbrex::usage_error(fmt::format("{} {} is unknown: use host, cuda or opencl", option, text));
}

std::optional<options> parse_options(int argc, const char* const* argv) {
  CLI::App app("Matrix products by tasks, with each optimisation of the tasks switched on after the other.", "dgemm");
  app.footer(footer());
  options o;
  std::string device = "host", variants;
  app.add_option("--sizes", o.sizes, "matrices are n by n: a list, of multiples of 16")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--variants", variants, "what to measure, separated by commas (default: all that can run)");
  app.add_option("--iterations", o.iterations, "products in each repeat, each with matrices of its own")
      ->capture_default_str();
  app.add_option("--repeats", o.repeats, "how often everything is measured; figures are medians")
      ->capture_default_str();
  app.add_option("--device", device, "host, cuda or opencl")->capture_default_str();
  app.add_option("--gpus", o.gpus, "deal the products over so many devices; a list is measured in turns")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--pes", o.pes, "submit from so many PEs, which share the devices; a list is measured in turns")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--streams", o.lanes, "streams for kernels of the variant 'queues'")->capture_default_str();
  app.add_option("--report", o.report, "write a JSON report, from which scripts/plot-dgemm draws");
  app.add_flag("--quiet", o.quiet, "print errors only");
  if (!apps::parse(app, argc, argv)) return std::nullopt;
  if (app.count("--variants") > 0) o.variants = parse_variants(variants);
  o.device = parse_device(device, "--device");
  apps::refuse_said_twice(app, argc, argv, {"--pes", "--gpus", "--device"});
  check_numbers(o);
  o.command = apps::command_of(argc, argv);
  return o;
}

}  // namespace dgemm
