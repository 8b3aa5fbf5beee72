#include "imbrex/device/opencl/opencl_devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"

namespace imbrex {

std::vector<int> opencl_devices::choose(int wanted, int local_rank, int num_local_ranks) {
  std::string why;
  const int there = opencl_machine::count(&why);
  if (there == 0) throw config_error(fmt::format("device opencl: {}; or use the host device", why));
  if (wanted > there) {
    throw config_error(fmt::format("{} devices of OpenCL were asked for, but there {} {}: ask for at most {}", wanted,
                                   there == 1 ? "is" : "are", there, there));
  }
  const std::vector<opencl_found>& all = opencl_machine::list();
  const auto cpus =
      static_cast<int>(std::count_if(all.begin(), all.begin() + there, [](const opencl_found& f) { return f.is_cpu; }));
  // Together with a GPU, a CPU would get as much of the work as that.
  const int eligible = wanted > 0 || there == cpus ? there : there - cpus;
  const int each = wanted > 0 ? wanted : std::max(eligible / std::max(num_local_ranks, 1), 1);
  std::vector<int> numbers;
  numbers.reserve(static_cast<std::size_t>(each));
  for (int i = 0; i < each; ++i) numbers.push_back((local_rank * each + i) % eligible);
  return numbers;
}

std::vector<int> opencl_devices::map_in_blocks(int num_devices, int num_pes) {
  std::vector<int> map;
  map.reserve(static_cast<std::size_t>(num_pes));
  for (int pe = 0; pe < num_pes; ++pe) map.push_back(pe * num_devices / std::max(num_pes, 1));
  return map;
}

void opencl_devices::add_pe(executor& pe) {
  of_one_pe& added = pes_.emplace_back();
  added.completion = std::make_unique<opencl_completion>(pe);
  for (int i = 0; i < machine_.num_processors(); ++i)
    added.handles.push_back(std::make_unique<opencl_device>(machine_, machine_.processor(i), pe, *added.completion));
  if (pe.devices == nullptr) {
    pe.devices = added.completion.get();
  } else {
    added.besides = std::make_unique<progress_pair>(*pe.devices, *added.completion);
    pe.devices = added.besides.get();
  }
}

std::vector<device*> opencl_devices::all_of_pe(std::size_t pe) const {
  std::vector<device*> all;
  for (const auto& handle : pes_[pe].handles) all.push_back(handle.get());
  return all;
}

void opencl_devices::log_memory() {
  for (int i = 0; i < machine_.num_processors(); ++i) {
    opencl_processor& p = machine_.processor(i);
    const slab_pool::usage memory = p.pool().used();
    const opencl_programs::usage programs = p.programs().used();
    constexpr double mb = 1e-6;
    log_debug(fmt::format(
        "{}: {:.1f} MB in use at most, {:.1f} MB held, {} calls to the driver; programs: {} compiled, "
        "{} from files",
        p.full_name(), static_cast<double>(memory.high_water) * mb, static_cast<double>(memory.from_source) * mb,
        memory.source_calls, programs.compiled, programs.from_file));
  }
}

}  // namespace imbrex
