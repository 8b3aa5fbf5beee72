#include "imbrex/runtime/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace imbrex {

const std::vector<setting>& runtime_settings() {
  using enum setting_kind;
  static const std::vector<setting> table = {
      {.name = "pes",
       .kind = integer,
       .default_value = "0",
       .max = 4096,
       .help = "PEs (scheduler threads) of each rank; 0: this rank's share of the cores"},
      {.name = "pin", .kind = flag, .help = "keep every PE on a core of its own; default: when there are enough cores"},
      {.name = "spin-us",
       .kind = integer,
       .max = 1'000'000,
       .help = "microseconds that an idle PE spins before it sleeps; default: 20, or 0 with more PEs than cores"},
      {.name = "transport",
       .kind = text,
       .default_value = "auto",
       .choices = {"auto", "loopback", "mpi"},
       .help = "how ranks talk; auto: mpi when started by mpirun or srun, else loopback"},
      {.name = "ranks",
       .kind = integer,
       .default_value = "1",
       .min = 1,
       .max = 1024,
       .help = "loopback only: ranks inside this process, for tests"},
      {.name = "loopback-seed",
       .kind = seed,
       .default_value = "0",
       .help = "loopback only: seed of the delays and the order of messages"},
      {.name = "loopback-delay-us",
       .kind = integer,
       .default_value = "0",
       .max = 1'000'000,
       .help = "loopback only: a message takes up to this many microseconds"},
      {.name = "loopback-reorder",
       .kind = flag,
       .default_value = "off",
       .help = "loopback only: messages of different pairs of PEs overtake each other"},
      {.name = "trace", .kind = text, .help = "file for a Chrome trace of the run (opens in Perfetto)"},
      {.name = "schedule-seed",
       .kind = seed,
       .default_value = "0",
       .help = "other than 0: run what is ready in random order, to find order-dependent programs"},
      {.name = "log",
       .kind = text,
       .default_value = "warning",
       .choices = {"trace", "debug", "info", "warning", "error", "off"},
       .help = "least severe messages to show"},
      {.name = "help", .kind = flag, .default_value = "off", .help = "print these options and end"},
  };
  return table;
}

config read_runtime_config(int& argc, char** argv) { return config(runtime_settings(), argc, argv, environ); }

runtime_options options_from(const config& settings) {
  runtime_options o;
  o.pes = settings.get<int>("pes");
  if (settings.is_set("pin")) o.pin = settings.get<bool>("pin");
  if (settings.is_set("spin-us")) o.spin_us = settings.get<int>("spin-us");
  o.transport = settings.get<std::string>("transport");
  o.ranks = settings.get<int>("ranks");
  o.loopback_seed = settings.get<std::uint64_t>("loopback-seed");
  o.loopback_delay_us = settings.get<int>("loopback-delay-us");
  o.loopback_reorder = settings.get<bool>("loopback-reorder");
  o.trace = settings.get<std::string>("trace");
  o.schedule_seed = settings.get<std::uint64_t>("schedule-seed");
  o.log = parse_log_level(settings.text("log"));
  o.help = settings.get<bool>("help");
  o.warnings = settings.warnings();
  return o;
}

runtime_options parse_runtime_options(int& argc, char** argv) {
  runtime_options o = options_from(read_runtime_config(argc, argv));
  set_log_level(o.log);
  return o;
}

std::string options_help() {
  std::string text =
      "Options of the imbrex runtime, for every application; --imbrex-name=value works too,\n"
      "and so does the environment variable IMBREX_NAME (the command line goes first):\n";
  for (const setting& s : runtime_settings()) {
    std::string usage = "--imbrex-" + s.name;
    if (s.kind == setting_kind::integer || s.kind == setting_kind::seed) usage += " N";
    if (s.kind == setting_kind::text) usage += s.name == "trace" ? " FILE" : " NAME";
    if (s.kind == setting_kind::flag && s.name != "help") usage += "[=on|off]";
    const bool show_default = !s.default_value.empty() && s.name != "help";
    fmt::format_to(std::back_inserter(text), "  {:<34} {}{}\n", usage, s.help,
                   show_default ? fmt::format(" ({})", s.default_value) : "");
  }
  return text;
}

pe_plan plan_pes(const runtime_options& options, int cores, int num_local_ranks, bool cores_are_shared) {
  constexpr int default_spin_us = 20;
  const int sharing = cores_are_shared ? std::max(num_local_ranks, 1) : 1;
  pe_plan plan;
  plan.pes = options.pes > 0 ? options.pes : std::max(cores / sharing, 1);
  const bool enough = plan.pes * sharing <= cores;
  plan.pin = options.pin.value_or(enough);
  plan.spin_us = options.spin_us.value_or(enough ? default_spin_us : 0);
  return plan;
}

}  // namespace imbrex
