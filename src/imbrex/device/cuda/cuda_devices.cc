#include "imbrex/device/cuda/cuda_devices.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/device/cuda/api/cuda_driver.h"

namespace imbrex {

namespace {

/// The processors that a GPU's PCI slot is attached to, from Linux's "0-15,32-47"; empty where it does not say.
std::vector<int> processors_near(int gpu) {
  char id[32] = {};
  if (cudaDeviceGetPCIBusId(id, sizeof id, gpu) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // forgotten, so that nobody else is blamed for it
    return {};
  }
  std::string name(id);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::ifstream file(fmt::format("/sys/bus/pci/devices/{}/local_cpulist", name));
  std::vector<int> processors;
  std::string range;
  while (std::getline(file, range, ',')) {
    int first = 0, last = 0;
    const auto [at, error] = std::from_chars(range.data(), range.data() + range.size(), first);
    if (error != std::errc{}) break;
    last = first;
    if (*at == '-') std::from_chars(at + 1, range.data() + range.size(), last);
    for (int p = first; p <= last; ++p) processors.push_back(p);
  }
  return processors;
}

}  // namespace

std::vector<int> cuda_devices::choose(int wanted, int local_rank, int num_local_ranks) {
  std::string why;
  const int there = cuda_machine::count(&why);
  if (there == 0) throw config_error(fmt::format("device cuda: no GPU can be used: {}; use the host device", why));
  if (wanted > there) {
    throw config_error(fmt::format("{} GPUs were asked for, but there {} {}: ask for at most {}", wanted,
                                   there == 1 ? "is" : "are", there, there));
  }
  const int each = wanted > 0 ? wanted : std::max(there / std::max(num_local_ranks, 1), 1);
  std::vector<int> numbers;
  numbers.reserve(static_cast<std::size_t>(each));
  for (int i = 0; i < each; ++i) numbers.push_back((local_rank * each + i) % there);
  return numbers;
}

std::vector<std::string> cuda_devices::bus_ids(const std::vector<int>& numbers) {
  std::vector<std::string> ids;
  ids.reserve(numbers.size());
  for (const int n : numbers) ids.push_back(cuda_gpu::bus_id_of(n));
  return ids;
}

std::vector<int> cuda_devices::map_by_topology(const std::vector<int>& numbers, const std::vector<int>& processors) {
  const auto num_gpus = static_cast<int>(numbers.size());
  const auto num_pes = static_cast<int>(processors.size());
  std::vector<int> map(processors.size(), -1);
  std::vector<int> room(numbers.size());
  for (int g = 0; g < num_gpus; ++g)
    room[static_cast<std::size_t>(g)] = (g + 1) * num_pes / num_gpus - g * num_pes / num_gpus;
  auto take = [&](std::size_t pe, std::size_t gpu) {
    if (map[pe] >= 0 || room[gpu] == 0) return;
    map[pe] = static_cast<int>(gpu);
    --room[gpu];
  };
  for (std::size_t g = 0; g < numbers.size(); ++g) {
    const std::vector<int> near = processors_near(numbers[g]);
    for (std::size_t pe = 0; pe < processors.size(); ++pe) {
      if (std::ranges::find(near, processors[pe]) != near.end()) take(pe, g);
    }
  }
  for (std::size_t pe = 0; pe < processors.size(); ++pe) {
    for (std::size_t g = 0; g < numbers.size(); ++g) take(pe, g);
  }
  return map;
}

cuda_devices::cuda_devices(const std::vector<int>& numbers, std::vector<int> map, completion_mode mode,
                           bool kernels_wait, trace_recorder* recorder, bool trace_by_cupti)
    : machine_(numbers), map_(std::move(map)), mode_(mode), kernels_wait_(kernels_wait) {
  if (!cuda_driver::loads_kernels_early()) {
    log_warning(
        "CUDA loads kernels when they are first launched, which cannot be done while a stream waits for the host or "
        "for another GPU: unset CUDA_MODULE_LOADING, or launch every kernel once before");
  }
  if (recorder == nullptr || !trace_by_cupti) return;
  std::string why;
  activity_ = cuda_activity::start(*recorder, &why);
  if (activity_ == nullptr) log_info("the trace tells the GPUs' times by events, which slow the run down: " + why);
}

void cuda_devices::finish_trace() {
  if (activity_ != nullptr) activity_->finish();
}

void cuda_devices::add_pe(executor& pe) {
  of_one_pe& added = pes_.emplace_back();
  added.completion = std::make_unique<cuda_completion>(pe, mode_, machine_.pinned(), kernels_wait_);
  for (int g = 0; g < machine_.num_gpus(); ++g)
    added.handles.push_back(
        std::make_unique<cuda_device>(machine_, machine_.gpu(g), pe, *added.completion, activity_.get()));
  pe.devices = added.completion.get();
}

void cuda_devices::watch_memory(const memory_watcher& tell) {
  const auto watch = [&](slab_pool& pool, memory_kind kind, int gpu) {
    pool.watch([tell, kind, gpu](void* base, std::size_t bytes, bool comes) {
      tell(static_cast<std::byte*>(base), bytes, kind, gpu, comes);
    });
  };
  for (int g = 0; g < machine_.num_gpus(); ++g)
    watch(machine_.gpu(g).pool(), memory_kind::device, machine_.gpu(g).number());
  watch(machine_.pinned(), memory_kind::pinned, -1);
  machine_.adopted().watch(tell);
}

void cuda_devices::log_memory() {
  const auto say = [](const std::string& whose, const slab_pool::usage& used) {
    constexpr double mb = 1e-6;
    log_debug(fmt::format("{}: {:.1f} MB in use at most, {:.1f} MB held, {} calls to the driver", whose,
                          static_cast<double>(used.high_water) * mb, static_cast<double>(used.from_source) * mb,
                          used.source_calls));
  };
  for (int g = 0; g < machine_.num_gpus(); ++g)
    say(fmt::format("memory of GPU {}", machine_.gpu(g).number()), machine_.gpu(g).pool().used());
  say("pinned memory", machine_.pinned().used());
}

std::vector<device*> cuda_devices::all_of_pe(std::size_t pe) const {
  std::vector<device*> all;
  for (const auto& handle : pes_[pe].handles) all.push_back(handle.get());
  return all;
}

void cuda_devices::bind_to_this_thread(std::size_t pe) {
  pes_[pe].handles[static_cast<std::size_t>(map_[pe])]->gpu().make_current();
}

}  // namespace imbrex
