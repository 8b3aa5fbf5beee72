#pragma once

#include <memory>
#include <vector>

#include "imbrex/runtime/rank/pe_devices.h"
#include "imbrex/virtual_time/gpu/simulated_cluster.h"
#include "imbrex/virtual_time/gpu/simulated_device.h"

namespace imbrex::detail {

/// The simulated GPUs of a rank, as its PEs' devices.
class simulated_pe_devices final : public pe_devices {
 public:
  /// `numbers`: as the node counts them. `map[i]`: the place among them of the one of PE i.
  simulated_pe_devices(simulated_cluster& cluster, int node, std::vector<int> numbers, std::vector<int> map)
      : cluster_(cluster),
        node_(node),
        numbers_(std::move(numbers)),
        map_(std::move(map)),
        pinned_(cluster.memory(), node) {}

  void add_pe(executor& pe) override;
  device& of_pe(std::size_t pe) const override { return *handles_[pe][static_cast<std::size_t>(map_[pe])]; }
  std::vector<device*> all_of_pe(std::size_t pe) const override;
  const std::vector<int>& map() const override { return map_; }
  bool can_be_reached() const override { return cluster_.description().network.gpu_direct; }
  void log_memory() override {}

 private:
  simulated_cluster& cluster_;
  const int node_;
  const std::vector<int> numbers_, map_;
  simulated_pinned_memory pinned_;
  std::vector<std::vector<std::unique_ptr<simulated_device>>> handles_;
};

}  // namespace imbrex::detail
