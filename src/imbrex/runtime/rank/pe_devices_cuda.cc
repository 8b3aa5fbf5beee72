// The GPUs of a rank, as its PEs' devices.
#include "imbrex/base/build_config.h"
#include "imbrex/runtime/rank/pe_devices.h"
#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/cuda_devices.h"
#endif

namespace imbrex::detail {

#if IMBREX_HAVE_CUDA

namespace {

class cuda_pe_devices final : public pe_devices {
 public:
  cuda_pe_devices(const runtime_options& o, const device_share& share, std::vector<int> map, trace_recorder* recorder)
      : map_(std::move(map)), all_(share.numbers, map_, o.completion, o.kernels_wait, recorder, o.trace_by_cupti) {}

  void add_pe(executor& pe) override { all_.add_pe(pe); }
  device& of_pe(std::size_t pe) const override { return all_.of_pe(pe); }
  std::vector<device*> all_of_pe(std::size_t pe) const override { return all_.all_of_pe(pe); }
  const std::vector<int>& map() const override { return map_; }
  void bind_to_this_thread(std::size_t pe) override { all_.bind_to_this_thread(pe); }
  bool can_be_reached() const override { return true; }
  void watch_memory(const memory_watcher& tell) override { all_.watch_memory(tell); }
  void finish_trace() override { all_.finish_trace(); }
  void log_memory() override { all_.log_memory(); }

 private:
  const std::vector<int> map_;
  cuda_devices all_;
};

}  // namespace

std::unique_ptr<pe_devices> open_cuda(const runtime_options& o, const device_share& share,
                                      const std::vector<int>& processors, trace_recorder* recorder) {
  std::vector<int> map = o.gpu_map.empty() ? cuda_devices::map_by_topology(share.numbers, processors)
                                           : parse_gpu_map(o.gpu_map, share.numbers.size(), processors.size());
  return std::make_unique<cuda_pe_devices>(o, share, std::move(map), recorder);
}

#else

std::unique_ptr<pe_devices> open_cuda(const runtime_options&, const device_share&, const std::vector<int>&,
                                      trace_recorder*) {
  return nullptr;  // choose_device_kind has refused
}

#endif

}  // namespace imbrex::detail
