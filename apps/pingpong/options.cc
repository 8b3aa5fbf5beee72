#include "options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <string_view>

#include "imbrex/base/error.h"
#include "sizes.h"
#include "support/output_place.h"
#include "support/words/command_line.h"

namespace pingpong {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw imbrex::usage_error(what); }

/// What the command line said, as text where the value needs reading.
struct raw_options {
  std::string modes, sizes = "8:8M";
};

CLI::Validator whole() {
  auto complaint = [](std::string& text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool reads = error == std::errc{} && end == text.data() + text.size();
    return reads ? std::string() : fmt::format("{} is no whole number that can be used", text);
  };
  return CLI::Validator(complaint, "");
}

void declare(CLI::App& app, options& o, raw_options& raw) {
  app.add_option("--modes", raw.modes, "what to measure, separated by commas (default: all that can run here)");
  app.add_option("--sizes", raw.sizes, "bytes: a list and ranges of doublings, such as 8:8M or 8,96K,9M")
      ->capture_default_str();
  app.add_option("--repeats", o.repeats, "how often every point is measured; figures are medians")
      ->check(whole())
      ->capture_default_str();
  app.add_option("--time-ms", o.time_ms,
                 "about how long each repeat of a point lasts; slow ones are repeated less often")
      ->capture_default_str();
  app.add_option("--trips", o.max_trips, "round trips in each repeat, at most")->check(whole())->capture_default_str();
  app.add_option("--chain", o.chain, "chained modes: round trips enqueued before the host waits")
      ->check(whole())
      ->capture_default_str();
  app.add_option("--window", o.window, "also measure bandwidth one way, with so many messages outstanding")
      ->check(whole());
  app.add_flag("--rate", o.rate, "also measure how many small entry-method messages pass one way");
  app.add_option("--report", o.report, "write a JSON report");
  app.add_option("--plot", o.plot, "draw a picture (by scripts/plot-pingpong; needs --report and matplotlib)");
  app.add_flag("--quiet", o.quiet, "print errors only");
}

std::string footer() {
  std::string text = "Modes:\n";
  for (const mode m : all_modes) text += fmt::format("  {:24}{}\n", name(m), description(m));
  return text +
         "\nThe players are on PE 0 and the last PE: mpirun -n 2 pingpong for two processes, pingpong alone for two "
         "PEs\n"
         "of one. All modes of a size are measured in turns. Options of the runtime start with --imbrex- and are "
         "passed\n"
         "over here.";
}

void check_numbers(const options& o) {
  const auto at_least = [](const char* option, int value, int least) {
    if (value < least) refuse(fmt::format("{} {} is too small: use at least {}", option, value, least));
  };
  at_least("--repeats", o.repeats, 1);
  at_least("--trips", o.max_trips, 1);
  at_least("--chain", o.chain, 1);
  at_least("--window", o.window, 0);
  if (o.window > 10'000) refuse(fmt::format("--window {} is too large: use at most 10000", o.window));
  if (!std::isfinite(o.time_ms) || o.time_ms <= 0)
    refuse(fmt::format("--time-ms {} cannot be used: give a positive number of milliseconds", o.time_ms));
  if (!o.plot.empty() && o.report.empty())
    refuse(fmt::format("--plot {} needs --report FILE too: the picture is drawn from the report", o.plot));
  apps::check_outputs_differ({{"--report", o.report}, {"--plot", o.plot}});
}

}  // namespace

std::optional<options> parse_options(int argc, const char* const* argv) {
  CLI::App app("Ping-pong: what a message costs, by every interface of imbrex and by what lies below.", "pingpong");
  app.footer(footer());
  options o;
  raw_options raw;
  declare(app, o, raw);
  if (!apps::parse(app, argc, argv)) return std::nullopt;
  if (app.count("--modes") > 0) o.modes = parse_modes(raw.modes);
  o.sizes = parse_sizes(raw.sizes);
  check_numbers(o);
  o.command = apps::command_of(argc, argv);
  return o;
}

}  // namespace pingpong
