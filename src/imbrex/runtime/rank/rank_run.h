#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/base/time_source.h"
#include "imbrex/checkpoint/memory/rank_memory.h"
#include "imbrex/comm/data/memory_sharing.h"
#include "imbrex/comm/transport.h"
#include "imbrex/device/host/host_device.h"
#include "imbrex/device/pool/memory_guards.h"
#include "imbrex/hetero/placement/cost_store.h"
#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/load/element_times.h"
#include "imbrex/runtime/rank/pe_devices.h"
#include "imbrex/runtime/rank/pe_driver.h"
#include "imbrex/runtime/rank/rank_start.h"
#include "imbrex/runtime/runtime.h"

namespace imbrex::detail {

/// One rank's life from its options to its exit code: agrees with the other ranks, makes the PEs, runs them by a thread
/// each or all by one, and takes everything down again (rank_end.cc). `transport` may be null (one rank). The calling
/// thread is the first PE's. `memory`: what the rank keeps of checkpoints over all its runs; may be null. `driver` runs
/// its PEs; null: threads do.
class rank_run {
 public:
  rank_run(const runtime_options& options, transport* t, std::vector<std::string> arguments,
           rank_memory* memory = nullptr, pe_driver* driver = nullptr);
  ~rank_run();

  /// Settles with the other ranks what must be the same on all. Throws `config_error`, or what kept a rank from
  /// starting: the same on every rank.
  void agree(const std::string& command_line);
  /// The exit code; `begin_again`: the job goes on in another run.
  int run(const main_program& main);

 private:
  void make_pes();
  void make_devices(const std::vector<int>& processors);
  std::vector<int> processors_of_pes() const;
  void start_transport();

  /// \name Threads
  ///@{
  void run_by_threads(const main_program& main);
  void pe_thread(std::size_t i, const main_program& main);
  void run_by_one_thread(const main_program& main);
  void run_by_driver(const main_program& main);
  void become(std::size_t i);
  void start_main(scheduler& pe, const main_program& main);
  ///@}

  /// \name The end
  ///@{
  void end_on_thread(std::size_t i);
  void end_all_on_this_thread();
  void report_times(std::size_t i);
  void meet();
  void wait_for_stop();
  job_end agree_on_end();
  int code_after_reports();
  bool write_trace();
  void write_own_trace() noexcept;
  bool write_costs();
  ///@}

  runtime_options options_;
  transport* const transport_;
  rank_memory* const memory_;
  pe_driver* const driver_;
  std::vector<std::string> arguments_;
  rank_agreement agreed_;
  memory_sharing sharing_;
  driven_time driven_time_;  // of PEs that one thread drives, where nothing else takes its time
  rank_context context_;
  std::unique_ptr<runtime> facade_;
  std::unique_ptr<trace_recorder> recorder_;
  std::unique_ptr<cost_store> costs_;
  memory_guards guards_;
  host_memory host_memory_;
  std::vector<std::unique_ptr<host_device>> hosts_;
  std::unique_ptr<pe_devices> devices_;  // null: the host's only
  std::vector<std::unique_ptr<chare_pe>> pes_;
  std::vector<std::unique_ptr<element_times>> times_;  // of each PE; empty: not timed
  std::atomic<int> arrived_{0};
  job_end end_;  // as all ranks agreed
};

}  // namespace imbrex::detail
