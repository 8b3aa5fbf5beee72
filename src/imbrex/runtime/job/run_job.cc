#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "imbrex/base/build_config.h"
#include "imbrex/checkpoint/live/checkpoint_signal.h"
#include "imbrex/hetero/placement/cost_store.h"
#include "imbrex/runtime/job/job_runs.h"
#include "imbrex/runtime/job/make_transport.h"
#include "imbrex/runtime/rank/crash_reports.h"
#include "imbrex/runtime/readonly.h"
#include "imbrex/runtime/runtime.h"
#include "imbrex/runtime/virtual_time/virtual_run.h"
#include "imbrex/trace/trace_file.h"
#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/api/cuda_driver.h"
#endif
#if IMBREX_HAVE_MPI
#include "imbrex/comm/mpi/mpi_job.h"
#endif

namespace imbrex {

namespace {
/// The system keeps eight bits of an exit code, and 256 would be a success.
int in_eight_bits(int code) {
  if (code >= 0 && code <= 255) return code;
  log_warning(fmt::format("exit code {} does not fit into the eight bits that a process has for it: it is 255", code));
  return 255;
}

/// A job that is simulated, or has its ranks inside this process, is one process, which each of several would be again.
void check_one_process(const runtime_options& o) {
#if IMBREX_HAVE_MPI
  if (launched_ranks() < 2) return;
  if (o.virtual_time.is_wanted()) {
    throw config_error(
        fmt::format("--imbrex-machine: a launcher started {} processes, and each would simulate the whole job: start "
                    "one, and give --imbrex-ranks or --imbrex-nodes",
                    launched_ranks()));
  }
  throw config_error(
      fmt::format("--imbrex-ranks={}: these are ranks inside one process, and a launcher started {}, each of which "
                  "would be the whole job: start one, or leave the option out",
                  o.ranks, launched_ranks()));
#endif
  static_cast<void>(o);
}
}  // namespace

int detail::run_job(int& argc, char** argv, const main_program& main) {
  std::string command_line;
  for (int i = 1; i < argc; ++i) command_line += (i == 1 ? "" : " ") + std::string(argv[i]);
  try {
    if (executor::current() != nullptr) {
      throw usage_error(
          "imbrex::run was called inside of a job: a process runs one at a time, and the next when it has returned");
    }
    const runtime_options options = parse_runtime_options(argc, argv);
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (options.help) {
      std::fputs(options_help().c_str(), stdout);
      return 0;
    }
    if (!options.trace.empty()) trace_file::check_writable(options.trace);
    if (!options.task_costs.empty()) cost_store(options.task_costs).check_writable();
    if (options.virtual_time.is_wanted()) {
      check_one_process(options);
      for (const std::string& w : options.warnings) log_warning(w);
      const crash_reports crashes;
      readonly_base::seal(true);
      const int code = detail::run_in_virtual_time(options, {arguments, command_line, main});
      readonly_base::seal(false);
      return in_eight_bits(code);
    }
    const detail::transport_choice choice = detail::choose_transport(options);
    if (choice == detail::transport_choice::loopback) check_one_process(options);
#if IMBREX_HAVE_CUDA
    if (options.device != "host") cuda_driver::ask_to_load_kernels_early();  // before MPI or UCX uses CUDA
#endif
    std::unique_ptr<transport> t = detail::make_transport(choice, options);
    if (t == nullptr || t->rank() == 0) {
      for (const std::string& w : options.warnings) log_warning(w);
    }
    std::optional<checkpoint_signals> signals;
    if (!options.checkpoint.folder.empty()) signals.emplace();
    const crash_reports crashes;
    readonly_base::seal(true);
    const int code = choice == detail::transport_choice::loopback
                         ? detail::run_in_one_process(options, {arguments, command_line, main})
                         : detail::run_in_processes(options, t, {arguments, command_line, main});
    readonly_base::seal(false);
    return in_eight_bits(code);
  } catch (const error& e) {
    readonly_base::seal(false);
    std::fprintf(stderr, "imbrex: error: %s\n", e.what());
    return e.exit_code();
  }
}

}  // namespace imbrex
