#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/base/build_config.h"
#include "imbrex/comm/transport.h"
#include "imbrex/device/host/host_device.h"
#include "imbrex/hetero/placement/cost_store.h"
#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/runtime/runtime.h"
#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/cuda_devices.h"
#endif
#if IMBREX_HAVE_OPENCL
#include "imbrex/device/opencl/opencl_devices.h"
#endif

namespace imbrex::detail {

using main_function = std::function<task<int>(runtime&, std::vector<std::string>)>;

/// One rank's life from its options to its exit code: agrees with the other ranks, starts the PEs, and takes
/// everything down again. `transport` may be null (one rank). The calling thread is the first PE.
class rank_run {
 public:
  rank_run(const runtime_options& options, transport* t, std::vector<std::string> arguments);
  ~rank_run();

  /// Throws `config_error` (the same on every rank) when the ranks were started differently.
  void agree(const std::string& command_line);
  int run(const main_function& main);

 private:
  void pe_thread(std::size_t i, const main_function& main);
  void start_main(scheduler& pe, const main_function& main);
  void meet();
  void wait_for_stop();
  job_end agree_on_end();
  int code_after_reports();
  bool write_trace();
  bool write_costs();
  void share_devices(std::vector<std::string> names);
  std::vector<int> parse_gpu_map(std::size_t num_gpus) const;
  void open_cuda();
  void open_opencl();
  void settle_protocols();

  runtime_options options_;
  transport* const transport_;
  std::vector<std::string> arguments_;
  pe_plan plan_;
  rank_context context_;
  std::vector<bool> same_host_;  // by rank
  std::unique_ptr<runtime> facade_;
  std::unique_ptr<trace_recorder> recorder_;
  std::unique_ptr<cost_store> costs_;
  host_memory host_memory_;
  std::vector<std::unique_ptr<host_device>> hosts_;
#if IMBREX_HAVE_CUDA
  std::unique_ptr<cuda_devices> gpus_;
#endif
#if IMBREX_HAVE_OPENCL
  std::unique_ptr<opencl_devices> opencl_;
#endif
  std::vector<std::unique_ptr<chare_pe>> pes_;
  std::atomic<int> arrived_{0};
  job_end end_;  // as all ranks agreed
};

}  // namespace imbrex::detail
