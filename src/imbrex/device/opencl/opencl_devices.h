#pragma once

#include <memory>
#include <vector>

#include "imbrex/async/progress_pair.h"
#include "imbrex/device/opencl/opencl_device.h"

namespace imbrex {

/// The devices of OpenCL of one rank and the handles of its PEs.
class opencl_devices {
 public:
  /// Which devices, by their numbers in `opencl_machine::list`, rank `local_rank` of `num_local_ranks` on this host
  /// drives: `wanted` of them, or with 0 its share of those that are no CPUs, or of the CPUs where there are no others.
  /// Ranks share devices when there are more ranks than devices. Throws `config_error` naming the number asked for and
  /// the number there, or what to install.
  static std::vector<int> choose(int wanted, int local_rank, int num_local_ranks);
  /// PEs to devices: in blocks of equal size.
  static std::vector<int> map_in_blocks(int num_devices, int num_pes);

  /// `numbers` from `choose`; `map[i]` is the place, in `numbers`, of the device of PE i.
  opencl_devices(const std::vector<int>& numbers, std::vector<int> map) : machine_(numbers), map_(std::move(map)) {}

  /// Makes a PE's handles, and has the PE look after them besides what it looks after already; PEs in order.
  void add_pe(executor& pe);
  /// The PE's own device, and all of them.
  device& of_pe(std::size_t pe) const { return *pes_[pe].handles[static_cast<std::size_t>(map_[pe])]; }
  std::vector<device*> all_of_pe(std::size_t pe) const;
  /// Says in the log (level debug) how much memory each pool handed out at most, and how programs were come by.
  void log_memory();

 private:
  struct of_one_pe {
    std::unique_ptr<opencl_completion> completion;
    std::unique_ptr<progress_pair> besides;
    std::vector<std::unique_ptr<opencl_device>> handles;
  };
  opencl_machine machine_;
  const std::vector<int> map_;
  std::vector<of_one_pe> pes_;
};

}  // namespace imbrex
