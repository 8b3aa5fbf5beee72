#include "imbrex/base/topology.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "imbrex/base/build_config.h"

#if IMBREX_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace imbrex {

namespace {

/// A set of processors of any size.
class processor_set {
 public:
  explicit processor_set(int capacity)
      : capacity_(capacity), bytes_(CPU_ALLOC_SIZE(capacity)), bits_(CPU_ALLOC(static_cast<std::size_t>(capacity))) {
    CPU_ZERO_S(bytes_, bits_.get());
  }
  void add(int processor) { CPU_SET_S(static_cast<std::size_t>(processor), bytes_, bits_.get()); }
  bool read_from_this_thread() { return sched_getaffinity(0, bytes_, bits_.get()) == 0; }
  bool apply_to_this_thread() const { return pthread_setaffinity_np(pthread_self(), bytes_, bits_.get()) == 0; }
  std::vector<int> members() const {
    std::vector<int> list;
    for (int i = 0; i < capacity_; ++i) {
      if (CPU_ISSET_S(static_cast<std::size_t>(i), bytes_, bits_.get())) list.push_back(i);
    }
    return list;
  }

 private:
  struct release {
    void operator()(cpu_set_t* bits) const { CPU_FREE(bits); }
  };
  int capacity_;
  std::size_t bytes_;
  std::unique_ptr<cpu_set_t, release> bits_;
};

/// The processors of a physical core, in the order in which threads should take them.
using core = std::vector<int>;

std::vector<int> read_process_mask() {
  constexpr int largest_machine = 1 << 16;
  for (int capacity = 1024; capacity <= largest_machine; capacity *= 4) {
    processor_set mask(capacity);
    if (mask.read_from_this_thread()) return mask.members();
  }
  const int n = std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

template <class T>
std::optional<T> read_first(const std::string& path) {
  std::ifstream file(path);
  T value{};
  if (file >> value) return value;
  return std::nullopt;
}

// "0,64" or "0-1": the siblings of a processor, as text the same for all of them.
std::string siblings_of(int processor) {
  const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", processor);
  return read_first<std::string>(folder + "thread_siblings_list").value_or(std::to_string(processor));
}

std::vector<core> cores_from_sysfs(const std::vector<int>& mask) {
  std::vector<core> cores;
  std::vector<std::string> keys;
  for (int processor : mask) {
    const std::string key = siblings_of(processor);
    const auto at = std::find(keys.begin(), keys.end(), key);
    if (at == keys.end()) {
      keys.push_back(key);
      cores.push_back({processor});
    } else {
      cores[static_cast<std::size_t>(at - keys.begin())].push_back(processor);
    }
  }
  return cores;
}

#if IMBREX_HAVE_HWLOC
// hwloc numbers cores so that neighbours share caches and memory, which the system's numbers need not do.
std::vector<core> cores_from_hwloc(const std::vector<int>& mask) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return {};
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> owner(topology, &hwloc_topology_destroy);
  if (hwloc_topology_load(topology) != 0) return {};
  const std::set<int> allowed(mask.begin(), mask.end());
  std::vector<core> cores;
  hwloc_obj_t last_core = nullptr;
  for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr;) {
    if (!allowed.contains(static_cast<int>(pu->os_index))) continue;
    hwloc_obj_t parent = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
    if (parent == nullptr || parent != last_core) cores.emplace_back();
    last_core = parent;
    cores.back().push_back(static_cast<int>(pu->os_index));
  }
  return cores;
}
#else
std::vector<core> cores_from_hwloc(const std::vector<int>&) { return {}; }
#endif

struct process_cores {
  std::vector<int> mask = read_process_mask();
  int num_physical = 0;
  std::vector<int> order;

  process_cores() {
    std::vector<core> cores = cores_from_hwloc(mask);
    std::size_t found = 0;
    for (const core& c : cores) found += c.size();
    if (found != mask.size()) cores = cores_from_sysfs(mask);
    num_physical = static_cast<int>(cores.size());
    for (std::size_t thread = 0; order.size() < mask.size(); ++thread) {
      for (const core& c : cores) {
        if (thread < c.size()) order.push_back(c[thread]);
      }
    }
  }
};

const process_cores& this_process() {
  static const process_cores cores;
  return cores;
}

// How many cores the control group's quota amounts to; none when there is no quota.
std::optional<int> core_quota() {
  std::ifstream unified("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(unified >> quota >> period)) {  // also when it says "max"
    quota = read_first<double>("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").value_or(-1);
    period = read_first<double>("/sys/fs/cgroup/cpu/cpu.cfs_period_us").value_or(0);
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return std::max(1, static_cast<int>((quota + period - 1) / period));
}

std::optional<std::uint64_t> memory_below_limit() {
  for (const auto& [limit_file, used_file] :
       {std::pair{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        std::pair{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}) {
    const auto limit = read_first<std::uint64_t>(limit_file);
    const auto used = read_first<std::uint64_t>(used_file);
    if (limit && used) return *limit > *used ? *limit - *used : 0;
  }
  return std::nullopt;
}

// "32768K"
std::uint64_t parse_cache_size(const std::string& text) {
  if (text.empty()) return 0;
  std::uint64_t size = 0;
  for (char c : text) {
    if (c >= '0' && c <= '9') size = size * 10 + static_cast<std::uint64_t>(c - '0');
  }
  const char unit = text.back();
  return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : unit == 'G' ? size << 30 : size;
}

}  // namespace

const std::vector<int>& processors_in_pinning_order() { return this_process().order; }

int available_cores() {
  static const int cores = [] {
    const int in_mask = std::max(static_cast<int>(this_process().mask.size()), 1);
    return std::min(in_mask, core_quota().value_or(in_mask));
  }();
  return cores;
}

int available_physical_cores() { return this_process().num_physical; }

bool pin_this_thread(int processor) {
  const std::vector<int>& allowed = this_process().mask;  // read before the first pin
  if (!std::binary_search(allowed.begin(), allowed.end(), processor)) return false;
  processor_set one(processor + 1);
  one.add(processor);
  return one.apply_to_this_thread();
}

void unpin_this_thread() {
  const std::vector<int>& allowed = this_process().mask;
  processor_set all(allowed.empty() ? 1 : allowed.back() + 1);
  for (int processor : allowed) all.add(processor);
  all.apply_to_this_thread();
}

int processor_for_pe(int i, int num_pes, int local_rank, int num_local_ranks) {
  const std::vector<int>& order = this_process().order;
  const int available = static_cast<int>(order.size());
  if (i < 0 || num_pes > available) return -1;
  const bool room_for_all = num_pes * num_local_ranks <= available;
  return order[static_cast<std::size_t>(room_for_all ? local_rank * num_pes + i : i)];
}

std::uint64_t available_host_memory() {
  std::ifstream file("/proc/meminfo");
  std::uint64_t available = 0;
  for (std::string key, unit; file >> key;) {
    std::uint64_t kibibytes = 0;
    file >> kibibytes;
    std::getline(file, unit);
    if (key == "MemAvailable:") available = kibibytes << 10;
  }
  return std::min(available, memory_below_limit().value_or(available));
}

std::uint64_t last_level_cache_size() {
  const std::vector<int>& order = this_process().order;
  const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cache/", order.empty() ? 0 : order.front());
  std::uint64_t largest = 0;
  for (int i = 0; i < 8; ++i) {
    const auto text = read_first<std::string>(fmt::format("{}index{}/size", folder, i));
    if (text) largest = std::max(largest, parse_cache_size(*text));
  }
  return largest;
}

}  // namespace imbrex
