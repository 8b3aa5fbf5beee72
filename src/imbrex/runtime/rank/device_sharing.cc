#include "imbrex/runtime/rank/device_sharing.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace imbrex::detail {

int num_ranks_sharing(const std::vector<devices_in_use>& of_ranks, std::size_t mine) {
  const devices_in_use& me = of_ranks[mine];
  return static_cast<int>(std::ranges::count_if(of_ranks, [&](const devices_in_use& other) {
    if (&other == &me) return true;
    return other.machine == me.machine && std::ranges::find_first_of(other.devices, me.devices) != other.devices.end();
  }));
}

std::string name_of_this_machine() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::ifstream boot_id("/proc/sys/kernel/random/boot_id");
  std::string name;
  std::getline(boot_id, name);
  return name + host;
}

}  // namespace imbrex::detail
