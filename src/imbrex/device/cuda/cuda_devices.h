#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/device/cuda/api/cuda_activity.h"
#include "imbrex/device/cuda/cuda_device.h"

namespace imbrex {

/// The GPUs of one rank and the handles of its PEs.
class cuda_devices {
 public:
  /// Which of the machine's GPUs rank `local_rank` of `num_local_ranks` on this host drives: `wanted` of them, or with
  /// 0 its share. Ranks share GPUs when there are more ranks than GPUs. Throws `config_error` naming the number asked
  /// for and the number there.
  static std::vector<int> choose(int wanted, int local_rank, int num_local_ranks);

  /// `numbers` from `choose`; `map[i]` is the place, in `numbers`, of the GPU of PE i. `recorder` is null unless the
  /// job is traced.
  /// `kernels_wait`: whether a kernel may wait for another GPU. `trace_by_cupti`: whether CUPTI, where it can be used,
  /// tells the trace's times.
  cuda_devices(const std::vector<int>& numbers, std::vector<int> map, completion_mode mode, bool kernels_wait,
               trace_recorder* recorder, bool trace_by_cupti);

  /// Makes a PE's handles; PEs in order.
  void add_pe(executor& pe);
  /// The PE's own GPU, and all of them.
  device& of_pe(std::size_t pe) const { return *pes_[pe].handles[static_cast<std::size_t>(map_[pe])]; }
  std::vector<device*> all_of_pe(std::size_t pe) const;
  /// Tells CUDA on the PE's thread which GPU is its own.
  void bind_to_this_thread(std::size_t pe);
  int num_gpus() const { return machine_.num_gpus(); }
  /// GPUs by names that are the same in all processes of the machine.
  static std::vector<std::string> bus_ids(const std::vector<int>& numbers);
  /// Calls `tell(start, bytes, kind, gpu, comes)` for all large pieces of memory that buffers lie in, and for what is
  /// adopted unless it is staged, those to come too; any thread.
  using memory_watcher = std::function<void(std::byte*, std::size_t, memory_kind, int gpu, bool comes)>;
  void watch_memory(const memory_watcher& tell);
  /// Nothing runs on the GPUs any more: the trace gets what is known of them only now.
  void finish_trace();
  /// Says in the log (level debug) how much memory each pool handed out at most.
  void log_memory();

  /// PEs to GPUs: in blocks of equal size, or, where the system says which processors a GPU is attached to, the PEs on
  /// these first. `processors[i]` is where PE i is pinned, -1 for nowhere.
  static std::vector<int> map_by_topology(const std::vector<int>& numbers, const std::vector<int>& processors);

 private:
  struct of_one_pe {
    std::unique_ptr<cuda_completion> completion;
    std::vector<std::unique_ptr<cuda_device>> handles;
  };
  cuda_machine machine_;
  const std::vector<int> map_;
  const completion_mode mode_;
  const bool kernels_wait_;
  std::shared_ptr<cuda_activity> activity_;
  std::vector<of_one_pe> pes_;
};

}  // namespace imbrex
