#include "imbrex/runtime/options/idle_options.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex::detail {

std::vector<std::string> idle_options(const config& settings, const runtime_options& o) {
  std::vector<std::string> lines;
  const auto idle_if = [&](bool condition, std::initializer_list<const char*> names, const char* why) {
    if (!condition) return;
    for (const char* name : names) {
      if (settings.is_set(name)) lines.push_back(fmt::format("--imbrex-{} does nothing here: {}", name, why));
    }
  };
  if (o.ranks > 1 && o.transport != "loopback" && o.transport != "auto") {
    throw config_error(
        fmt::format("--imbrex-ranks={} makes ranks inside of this process, and --imbrex-transport={} is one between "
                    "processes: start it with mpirun -n {}, or leave out the transport",
                    o.ranks, o.transport, o.ranks));
  }
  const char* const for_ranks = "it is for several ranks in a process (--imbrex-ranks)";
  idle_if(o.ranks == 1 && o.loopback_delay_us > 0, {"loopback-delay-us"}, for_ranks);
  idle_if(o.ranks == 1 && o.loopback_reorder, {"loopback-reorder"}, for_ranks);
  idle_if(o.ranks == 1 && o.loopback_lose_after > 0, {"loopback-lose-after"}, for_ranks);
  idle_if(o.balance.strategy.empty(), {"balance-every-ms", "balance-rates"}, "it needs --imbrex-balance=STRATEGY");
  const char* const for_real = "--imbrex-machine simulates the machine";
  idle_if(o.virtual_time.is_wanted(), {"heartbeat-s", "spin-us"}, for_real);
  idle_if(o.virtual_time.is_wanted() && o.pin.value_or(false), {"pin"}, for_real);
  idle_if(o.virtual_time.is_wanted() && o.device == "host", {"machine-data", "completion"},
          "--imbrex-device=host uses no GPU");
  idle_if(o.device == "host", {"gpus", "gpu-map"}, "--imbrex-device=host uses no GPU");
  return lines;
}

}  // namespace imbrex::detail
