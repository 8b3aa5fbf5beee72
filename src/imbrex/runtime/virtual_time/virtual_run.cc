#include "imbrex/runtime/virtual_time/virtual_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/comm/rank_lost.h"
#include "imbrex/runtime/rank/rank_run.h"
#include "imbrex/runtime/virtual_time/large_pages.h"
#include "imbrex/runtime/virtual_time/machine_report.h"
#include "imbrex/runtime/virtual_time/shape_on_machine.h"
#include "imbrex/runtime/virtual_time/virtual_driver.h"

namespace imbrex::detail {

namespace {

constexpr std::size_t stack_bytes = std::size_t{512} << 10;  // of a rank that starts or ends

/// One memory for what all PEs allocate, since all of them are on this thread; it goes last.
class memory_of_all {
 public:
  memory_of_all() { memory_.bind_to_this_thread(); }
  memory_of_all(const memory_of_all&) = delete;
  memory_of_all& operator=(const memory_of_all&) = delete;
  ~memory_of_all() { slab::unbind_this_thread(); }

 private:
  slab memory_;
};

int run_rank(std::unique_ptr<rank_run>& rank, const runtime_options& options, transport& t, const job_to_run& job,
             pe_driver& driver) {
  try {
    rank = std::make_unique<rank_run>(options, &t, job.arguments, nullptr, &driver);
    rank->agree(job.command_line);
    return rank->run(job.main);
  } catch (const error& e) {
    if (t.rank() == 0) std::fprintf(stderr, "imbrex: error: %s\n", e.what());
    return e.exit_code();
  }
}

/// Fails the process: the ranks' stacks cannot be unwound.
[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "imbrex: error: %s\n", why.c_str());
  std::fflush(nullptr);
  std::_Exit(exit_code_failed_entry);
}

/// The ranks start, their PEs run in virtual time, the ranks end.
void run_all(virtual_job& job) {
  while (!job.ranks.all_ended()) {
    if (job.ranks.have_turns()) continue;
    if (job.has_run || job.num_ready < job.shape.num_ranks)
      give_up("the ranks wait for each other in virtual time, and none goes on");
    try {
      job.time.run();
    } catch (const std::exception& e) {
      give_up(e.what());
    }
    job.has_run = true;
  }
}

}  // namespace

int run_in_virtual_time(const runtime_options& options, const job_to_run& job) {
  const machine m = read_machine(options.virtual_time.machine);
  runtime_options o = options;
  const job_shape shape = shape_on_machine(m, o);
  check_machine_report(o.virtual_time.report);
  constexpr std::size_t of_a_pe = std::size_t{1} << 20;
  use_large_pages(static_cast<std::size_t>(shape.num_ranks) * static_cast<std::size_t>(o.pes) * of_a_pe);
  const memory_of_all all_memory;
  const auto begun = std::chrono::steady_clock::now();
  std::vector<int> codes(static_cast<std::size_t>(shape.num_ranks), 0);
  {
    virtual_job all(m, shape, o);
    std::vector<std::unique_ptr<simulated_transport>> transports;
    std::vector<std::unique_ptr<virtual_driver>> drivers;
    std::vector<std::unique_ptr<rank_run>> ranks(codes.size());
    for (int r = 0; r < shape.num_ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      transports.push_back(std::make_unique<simulated_transport>(all.network, r));
      drivers.push_back(std::make_unique<virtual_driver>(all, r));
      all.ranks.add(stack_bytes, [&, i] { codes[i] = run_rank(ranks[i], o, *transports[i], job, *drivers[i]); });
    }
    run_all(all);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    log_info(
        fmt::format("virtual time: {} ranks on {} nodes of {} ended after {:.6f} s; {} events, {} messages and {} "
                    "bytes between ranks; "
                    "that took {:.1f} s here, {:.2f} million events a second",
                    shape.num_ranks, shape.num_nodes(), m.name, static_cast<double>(all.time.ended_at()) * 1e-9,
                    all.time.num_events(), all.network.num_messages(), all.network.num_bytes(), took,
                    static_cast<double>(all.time.num_events()) / took * 1e-6));
    write_machine_report(all, took);
  }
  set_thread_log_rank(-1);
  const auto failed = std::ranges::find_if(codes, [](int code) { return code != 0; });
  if (failed == codes.end()) return 0;
  if (*failed != begin_again) return *failed;
  throw usage_error("the number of PEs does not change in virtual time: leave out resize");
}

}  // namespace imbrex::detail
