#include "imbrex/runtime/options/virtual_time_settings.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex::detail {

std::vector<setting> virtual_time_settings() {
  using enum setting_kind;
  return {
      {.name = "machine",
       .kind = text,
       .default_value = "",
       .help = "run in virtual time on a machine that is simulated: a name (imbrex machines lists them) or a file that "
               "describes one; empty: on this one"},
      {.name = "nodes",
       .kind = integer,
       .default_value = "1",
       .min = 1,
       .max = 1'000'000,
       .help = "with machine: so many nodes of it"},
      {.name = "ranks-per-node",
       .kind = integer,
       .default_value = "0",
       .max = 4096,
       .help = "with machine: so many ranks on each node; 0: one for each GPU, or one where GPUs are not used"},
      {.name = "machine-seed",
       .kind = seed,
       .default_value = "1",
       .help = "with machine: seed of its noise; the same seed gives the same run"},
      {.name = "machine-report",
       .kind = text,
       .help = "with machine: file for what its PEs, GPUs and network did, as JSON"},
      {.name = "machine-data",
       .kind = text,
       .default_value = "auto",
       .choices = {"auto", "on", "off"},
       .help = "with machine: whether buffers of GPUs have bytes; auto: with up to 8 ranks. Without, results mean "
               "nothing, but times do"},
      {.name = "machine-cpu",
       .kind = text,
       .default_value = "auto",
       .choices = {"auto", "measured", "declared"},
       .help = "with machine: a PE's own computing takes as long as here, or as the program declares; auto: declared "
               "with GPUs"},
  };
}

void read_virtual_time(const config& settings, runtime_options& o) {
  virtual_time_options& v = o.virtual_time;
  v.machine = settings.text("machine");
  v.nodes = settings.get<int>("nodes");
  v.ranks_per_node = settings.get<int>("ranks-per-node");
  v.seed = settings.get<std::uint64_t>("machine-seed");
  v.report = settings.text("machine-report");
  const std::string& data = settings.text("machine-data");
  v.data = data == "auto" ? simulated_data::automatic : data == "on" ? simulated_data::on : simulated_data::off;
  const std::string& cpu = settings.text("machine-cpu");
  v.cpu = cpu == "auto"       ? simulated_cpu::automatic
          : cpu == "measured" ? simulated_cpu::measured
                              : simulated_cpu::declared;
  if (v.is_wanted()) {
    if (settings.is_set("ranks")) v.ranks = o.ranks;
    if (o.transport != "auto")
      throw config_error(fmt::format("--imbrex-machine={} has a network of its own: leave out --imbrex-transport={}",
                                     v.machine, o.transport));
    if (o.checkpoint.in_memory())
      throw config_error(
          fmt::format("--imbrex-machine={}: ranks are not lost there, so checkpoints in memory are refused: leave out "
                      "--imbrex-checkpoint-memory",
                      v.machine));
    for (const char* name : {"loopback-seed", "loopback-delay-us", "loopback-reorder", "loopback-lose-after"}) {
      if (settings.is_set(name))
        throw config_error(
            fmt::format("--imbrex-{} is of the loopback transport, which --imbrex-machine={} does not "
                        "use: leave it out; --imbrex-machine-seed changes the order of messages",
                        name, v.machine));
    }
    return;
  }
  for (const char* name :
       {"nodes", "ranks-per-node", "machine-seed", "machine-report", "machine-data", "machine-cpu"}) {
    if (settings.is_set(name)) throw config_error(fmt::format("--imbrex-{} needs --imbrex-machine=NAME, too", name));
  }
}

}  // namespace imbrex::detail
