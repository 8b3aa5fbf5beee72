#include "imbrex/runtime/runtime.h"

#include <cstdio>
#include <memory>
#include <optional>

#include "imbrex/base/build_config.h"
#include "imbrex/checkpoint/live/checkpoint_signal.h"
#include "imbrex/checkpoint/live/point_messages.h"
#include "imbrex/hetero/placement/cost_store.h"
#include "imbrex/runtime/job_runs.h"
#include "imbrex/runtime/make_transport.h"
#include "imbrex/runtime/readonly.h"
#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/api/cuda_driver.h"
#endif

namespace imbrex {

task<std::string> runtime::checkpoint(std::string folder) const {
  scheduler& pe = scheduler::current();
  if (pe.id() != 0) throw usage_error("a checkpoint is made by the main chare, or by elements in checkpoint_point");
  if (folder.empty()) folder = options_.checkpoint.folder;
  if (folder.empty())
    throw usage_error("a checkpoint needs a folder: name it to checkpoint(), or start with --imbrex-checkpoint=FOLDER");
  auto made = checkpointer::of(pe).make(std::move(folder));
  co_return co_await made;
}

void runtime::resize(int pes_per_rank) const {
  scheduler& pe = scheduler::current();
  constexpr int most = 4096;
  if (pes_per_rank < 1 || pes_per_rank > most) {
    throw usage_error(
        fmt::format("a job is to go on with {} PEs of each rank: give a number from 1 to {}", pes_per_rank, most));
  }
  if (!checkpointer::of(pe).has_points()) {
    throw usage_error(
        "the number of PEs changes at checkpoint points, and this job has none: start it with "
        "--imbrex-checkpoint-memory=EVERY or --imbrex-checkpoint=FOLDER");
  }
  if (transport_name() == "ucx")
    throw usage_error("the number of PEs cannot change over ucx: use --imbrex-transport=mpi");
  pe.send(0, resize_call{pes_per_rank}, priorities::communication);
}

int detail::run_job(int& argc, char** argv, const main_program& main) {
  std::string command_line;
  for (int i = 1; i < argc; ++i) command_line += (i == 1 ? "" : " ") + std::string(argv[i]);
  try {
    const runtime_options options = parse_runtime_options(argc, argv);
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (options.help) {
      std::fputs(options_help().c_str(), stdout);
      return 0;
    }
    if (!options.trace.empty()) trace_recorder::check_writable(options.trace);
    if (!options.task_costs.empty()) cost_store(options.task_costs).check_writable();
    const detail::transport_choice choice = detail::choose_transport(options);
#if IMBREX_HAVE_CUDA
    if (options.device != "host") cuda_driver::ask_to_load_kernels_early();  // before MPI or UCX uses CUDA
#endif
    std::unique_ptr<transport> t = detail::make_transport(choice, options);
    if (t == nullptr || t->rank() == 0) {
      for (const std::string& w : options.warnings) log_warning(w);
    }
    std::optional<checkpoint_signals> signals;
    if (!options.checkpoint.folder.empty()) signals.emplace();
    readonly_base::seal(true);
    const int code = choice == detail::transport_choice::loopback
                         ? detail::run_in_one_process(options, {arguments, command_line, main})
                         : detail::run_in_processes(options, t, {arguments, command_line, main});
    readonly_base::seal(false);
    return code;
  } catch (const error& e) {
    readonly_base::seal(false);
    std::fprintf(stderr, "imbrex: error: %s\n", e.what());
    return e.exit_code();
  }
}

}  // namespace imbrex
