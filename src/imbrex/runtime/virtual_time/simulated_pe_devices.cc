#include "imbrex/runtime/virtual_time/simulated_pe_devices.h"

namespace imbrex::detail {

void simulated_pe_devices::add_pe(executor& pe) {
  auto& mine = handles_.emplace_back();
  for (const int n : numbers_)
    mine.push_back(std::make_unique<simulated_device>(cluster_, cluster_.gpu(node_, n), pinned_, pe));
}

std::vector<device*> simulated_pe_devices::all_of_pe(std::size_t pe) const {
  std::vector<device*> all;
  for (const auto& d : handles_[pe]) all.push_back(d.get());
  return all;
}

}  // namespace imbrex::detail
