#include "support/node_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace apps {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t available_on_node() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  }
  return unlimited;
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  std::uint64_t value = 0;
  std::ifstream file(path);
  if (file >> value) return value;
  return std::nullopt;  // absent, or "max"
}

/// Room under the control group's limit (version 2, then 1); page cache counts as used, but can be taken back.
std::uint64_t available_in_group(const std::string& folder, const char* limit_file, const char* used_file) {
  const auto limit = read_number(folder + limit_file), used = read_number(folder + used_file);
  if (!limit || !used) return unlimited;
  std::uint64_t reclaimable = 0;
  std::ifstream statistics(folder + "memory.stat");
  std::string word;
  for (std::uint64_t value = 0; statistics >> word >> value;)
    if (word == "inactive_file" || word == "active_file") reclaimable += value;
  const std::uint64_t held = *used - std::min(*used, reclaimable);
  return *limit - std::min(*limit, held);
}

/// How much this process has mapped.
std::uint64_t mapped() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::uint64_t available_memory() {
  return std::min({available_on_node(), available_in_group("/sys/fs/cgroup/", "memory.max", "memory.current"),
                   available_in_group("/sys/fs/cgroup/memory/", "memory.limit_in_bytes", "memory.usage_in_bytes")});
}

std::uint64_t room_of_process() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, mapped());
}

}  // namespace apps
