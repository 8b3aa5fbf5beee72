// The devices of OpenCL of a rank, as its PEs' devices.
#include "imbrex/base/build_config.h"
#include "imbrex/runtime/rank/pe_devices.h"
#if IMBREX_HAVE_OPENCL
#include "imbrex/device/opencl/opencl_devices.h"
#endif

namespace imbrex::detail {

#if IMBREX_HAVE_OPENCL

namespace {

class opencl_pe_devices final : public pe_devices {
 public:
  opencl_pe_devices(const device_share& share, std::vector<int> map)
      : map_(std::move(map)), all_(share.numbers, map_) {}

  void add_pe(executor& pe) override { all_.add_pe(pe); }
  device& of_pe(std::size_t pe) const override { return all_.of_pe(pe); }
  std::vector<device*> all_of_pe(std::size_t pe) const override { return all_.all_of_pe(pe); }
  const std::vector<int>& map() const override { return map_; }
  bool can_be_reached() const override { return false; }
  void log_memory() override { all_.log_memory(); }

 private:
  const std::vector<int> map_;
  opencl_devices all_;
};

}  // namespace

std::unique_ptr<pe_devices> open_opencl(const runtime_options& o, const device_share& share, std::size_t num_pes) {
  std::vector<int> map = o.gpu_map.empty() ? opencl_devices::map_in_blocks(static_cast<int>(share.numbers.size()),
                                                                           static_cast<int>(num_pes))
                                           : parse_gpu_map(o.gpu_map, share.numbers.size(), num_pes);
  return std::make_unique<opencl_pe_devices>(share, std::move(map));
}

#else

std::unique_ptr<pe_devices> open_opencl(const runtime_options&, const device_share&, std::size_t) {
  return nullptr;  // choose_device_kind has refused
}

#endif

}  // namespace imbrex::detail
