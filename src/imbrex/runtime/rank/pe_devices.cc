#include "imbrex/runtime/rank/pe_devices.h"

#include <charconv>
#include <sstream>

#include <fmt/format.h>

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/cuda_devices.h"
#endif
#if IMBREX_HAVE_OPENCL
#include "imbrex/device/opencl/opencl_devices.h"
#endif

namespace imbrex::detail {

device_share choose_devices([[maybe_unused]] const runtime_options& options, [[maybe_unused]] int local_rank,
                            [[maybe_unused]] int num_local_ranks) {
  device_share share;
  if (options.virtual_time.is_wanted()) {
    for (int i = 0; options.device == "cuda" && i < options.gpus; ++i) {
      share.numbers.push_back(local_rank * options.gpus + i);
      share.names.push_back(std::to_string(share.numbers.back()));
    }
    return share;
  }
#if IMBREX_HAVE_CUDA
  if (options.device == "cuda") {
    share.numbers = cuda_devices::choose(options.gpus, local_rank, num_local_ranks);
    share.names = cuda_devices::bus_ids(share.numbers);
  }
#endif
#if IMBREX_HAVE_OPENCL
  if (options.device == "opencl") {
    share.numbers = opencl_devices::choose(options.gpus, local_rank, num_local_ranks);
    for (const int n : share.numbers) share.names.push_back(std::to_string(n));
  }
#endif
  return share;
}

std::unique_ptr<pe_devices> open_devices(const runtime_options& options, const device_share& share,
                                         const std::vector<int>& processors, trace_recorder* recorder) {
  if (options.device == "cuda") return open_cuda(options, share, processors, recorder);
  if (options.device == "opencl") return open_opencl(options, share, processors.size());
  return nullptr;
}

std::vector<int> parse_gpu_map(const std::string& text, std::size_t num_gpus, std::size_t num_pes) {
  std::vector<int> map;
  std::istringstream in(text);
  const auto gpus = static_cast<int>(num_gpus);
  for (std::string item; std::getline(in, item, ',');) {
    int gpu = -1;
    const auto [at, error] = std::from_chars(item.data(), item.data() + item.size(), gpu);
    if (error != std::errc{} || at != item.data() + item.size() || gpu < 0 || gpu >= gpus) {
      throw config_error(
          fmt::format("--imbrex-gpu-map {}: '{}' is none of the {} GPUs of a rank, which are counted "
                      "from 0",
                      text, item, gpus));
    }
    map.push_back(gpu);
  }
  if (map.size() != num_pes) {
    throw config_error(fmt::format("--imbrex-gpu-map {} names {} GPUs: name one for each of the {} PEs of a rank", text,
                                   map.size(), num_pes));
  }
  return map;
}

}  // namespace imbrex::detail
