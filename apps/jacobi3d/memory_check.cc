#include "memory_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "field/block_field.h"
#include "imbrex/base/error.h"

namespace jacobi {
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

}  // namespace

std::uint64_t available_memory() {
  return std::min({available_on_node(), available_in_group("/sys/fs/cgroup/", "memory.max", "memory.current"),
                   available_in_group("/sys/fs/cgroup/memory/", "memory.limit_in_bytes", "memory.usage_in_bytes")});
}

void check_memory(std::uint64_t needed, std::uint64_t available) {
  if (needed <= available) return;
  constexpr double mib = 1 << 20;
  throw imbrex::out_of_memory(fmt::format(
      "not enough memory on a node: the run needs {:.0f} MiB and {:.0f} MiB are available: use a smaller grid "
      "(-x -y -z), fewer chares, more nodes, or no --verify",
      static_cast<double>(needed) / mib, static_cast<double>(available) / mib));
}

std::uint64_t bytes_of_all_blocks(const decomposition& blocks) {
  // No block is larger than the first in any direction, and none is smaller by more than one cell.
  const extents largest = blocks.cells({0, 0, 0}).size;
  return static_cast<std::uint64_t>(blocks.num_blocks()) * block_field::bytes_needed(largest);
}

}  // namespace jacobi
