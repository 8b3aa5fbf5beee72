#include "imbrex/runtime/runtime.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "imbrex/base/address_watch.h"
#include "imbrex/base/build_config.h"
#include "imbrex/checkpoint/live/checkpoint_signal.h"
#include "imbrex/comm/loopback/loopback_transport.h"
#include "imbrex/hetero/placement/cost_store.h"
#include "imbrex/runtime/make_transport.h"
#include "imbrex/runtime/rank_run.h"
#include "imbrex/runtime/readonly.h"
#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/cuda_driver.h"
#endif

namespace imbrex {

namespace {

/// One rank from start to end, kept in `rank`; errors before the PEs run are reported by rank 0 alone.
int run_rank(std::unique_ptr<detail::rank_run>& rank, const runtime_options& options, transport* t,
             const std::vector<std::string>& arguments, const std::string& command_line,
             const detail::main_program& main) {
  try {
    rank = std::make_unique<detail::rank_run>(options, t, arguments);
    rank->agree(command_line);
    return rank->run(main);
  } catch (const error& e) {
    if (t == nullptr || t->rank() == 0) std::fprintf(stderr, "imbrex: error: %s\n", e.what());
    return e.exit_code();
  }
}

int run_loopback(const runtime_options& options, const std::vector<std::string>& arguments,
                 const std::string& command_line, const detail::main_program& main) {
  auto network =
      std::make_shared<loopback_network>(options.ranks, loopback_options{.seed = options.loopback_seed,
                                                                         .max_delay_us = options.loopback_delay_us,
                                                                         .reorder = options.loopback_reorder});
  const auto n = static_cast<std::size_t>(options.ranks);
  std::vector<int> codes(n, 0);
  std::vector<std::unique_ptr<loopback_transport>> transports(n);
  // Messages between ranks live in the memory of the sender's PEs: no rank goes before all threads have ended.
  std::vector<std::unique_ptr<detail::rank_run>> ranks(n);
  auto one = [&](std::size_t r) {
    transports[r] = std::make_unique<loopback_transport>(network, static_cast<rank_id>(r));
    codes[r] = run_rank(ranks[r], options, transports[r].get(), arguments, command_line, main);
  };
  std::vector<std::thread> threads;
  detail::address_watch::turn(true);
  for (std::size_t r = 1; r < n; ++r) threads.emplace_back(one, r);
  one(0);
  for (std::thread& t : threads) t.join();
  detail::address_watch::turn(false);
  const auto failed = std::find_if(codes.begin(), codes.end(), [](int code) { return code != 0; });
  return failed == codes.end() ? 0 : *failed;
}

}  // namespace

task<std::string> runtime::checkpoint(std::string folder) const {
  scheduler& pe = scheduler::current();
  if (pe.id() != 0) throw usage_error("a checkpoint is made by the main chare, or by elements in checkpoint_point");
  if (folder.empty()) folder = options_.checkpoint.folder;
  if (folder.empty())
    throw usage_error("a checkpoint needs a folder: name it to checkpoint(), or start with --imbrex-checkpoint=FOLDER");
  auto made = checkpointer::of(pe).make(std::move(folder));
  co_return co_await made;
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
    const std::unique_ptr<transport> t = detail::make_transport(choice, options);
    if (t == nullptr || t->rank() == 0) {
      for (const std::string& w : options.warnings) log_warning(w);
    }
    std::optional<checkpoint_signals> signals;
    if (!options.checkpoint.folder.empty()) signals.emplace();
    readonly_base::seal(true);
    std::unique_ptr<rank_run> rank;
    const int code = choice == detail::transport_choice::loopback
                         ? run_loopback(options, arguments, command_line, main)
                         : run_rank(rank, options, t.get(), arguments, command_line, main);
    readonly_base::seal(false);
    return code;
  } catch (const error& e) {
    readonly_base::seal(false);
    std::fprintf(stderr, "imbrex: error: %s\n", e.what());
    return e.exit_code();
  }
}

}  // namespace imbrex
