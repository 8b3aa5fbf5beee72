#include "chares/chare_solver.h"

#include <string>
#include <vector>

#include "chares/chare_driver.h"
#include "chares/chare_tuning.h"
#include "imbrex/base/build_config.h"
#include "memory_check.h"
#include "support/words/runtime_words.h"

namespace jacobi {
namespace {

using blocks_proxy = ix::array_proxy<block>;

void check_host_memory(const ix::runtime& rt, const options& o, const decomposition& cut) {
  const auto ranks = static_cast<std::uint64_t>(rt.num_ranks());
  std::uint64_t needed = host_bytes_of_all_blocks(cut, o) / ranks * static_cast<std::uint64_t>(rt.num_local_ranks());
  if (o.verify) needed += serial_reference::bytes_needed(o.grid);
  check_memory(needed);
}

ix::task<int> run_job(ix::runtime& rt, job_state* job, bool restarted) {
  std::string tuned;
  if (this_job.given->tuned.any()) {
    if (restarted) throw ix::usage_error("auto is for runs from the beginning: give the numbers that the header named");
    auto choosing = choose_options(rt);
    tuned = co_await choosing;
  }
  const options& o = *this_job.given;
  if (o.impl == implementation::hetero) {
    if (restarted || rt.options().checkpoint.at_points())
      throw ix::usage_error("--impl hetero makes no checkpoints: leave --impl out");
    auto with_tasks = start_with_tasks(rt);
    co_return co_await with_tasks;
  }
  if (o.steps > 1 && rt.kind_of_device() == ix::device_kind::opencl)
    throw ix::usage_error(fmt::format("--steps {} is for the host and for CUDA: add --device host", o.steps));
#if IMBREX_HAVE_CUDA
  if (rt.kind_of_device() == ix::device_kind::cuda) {
    auto on_gpus = run_on_gpus(rt, job, restarted, tuned);
    co_return co_await on_gpus;
  }
#endif
  if (restarted) check_restarted_state(*job, o, false);
  const decomposition cut =
      restarted ? job->cut() : decomposition::of_least_surface(o.grid, chare_count(o, rt.num_pes()), x_face_weight(o));
  result r = facts_of(rt, o, cut);
  r.tuned = tuned;
  check_report_writable(o);
  check_host_memory(rt, o, cut);
  guarded_outputs outputs(o, cut);
  if (!o.quiet) fmt::print("{}", header_text(o, r));
  std::fflush(stdout);

  if (!restarted) {
    begin_state(*job, o, cut, false);
    job->blocks = create_blocks<block>(rt, o, cut);
  }
  const blocks_proxy blocks = job->blocks;
  auto repeats = run_repeats(blocks, &o, &r, job);
  co_await repeats;
  note_balancing(rt, r);
  auto concluded = conclude(blocks, &o, &cut, &r, &outputs);
  co_return co_await concluded;
}

struct program {
  job_state job;

  ix::task<int> start(ix::runtime& rt) { return run_job(rt, &job, false); }
  ix::task<int> restart(ix::runtime& rt) { return run_job(rt, &job, true); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & job;
  }
};

}  // namespace

ix::task<double> try_on_host(ix::runtime& rt) {
  const options& o = *this_job.given;
  const decomposition cut = decomposition::of_least_surface(o.grid, chare_count(o, rt.num_pes()), x_face_weight(o));
  check_host_memory(rt, o, cut);
  const blocks_proxy blocks = create_blocks<block>(rt, o, cut);
  result r;
  auto one = run_repeat(blocks, &o, &r, 0, nullptr);
  co_await one;
  blocks.destroy();
  co_await rt.quiescence();
  co_return r.iteration_us.back();
}

#if !IMBREX_HAVE_CUDA
ix::task<double> try_on_gpus(ix::runtime& rt) { return try_on_host(rt); }
#endif

int run_chare_solver(int argc, char** argv, const options& o) {
  this_job.given = this_job.of_command_line = &o;
  apps::runtime_words words(argc, argv);
  if (o.pes > 0) words.add("pes", std::to_string(o.pes));
  words.add("device", o.device);
  if (o.gpu.gpus > 0) words.add("gpus", std::to_string(o.gpu.gpus));
  if (!o.gpu.completion.empty()) words.add("completion", o.gpu.completion);
  if (!o.balance.empty()) words.add("balance", o.balance);
  if (o.balance_every > 0) words.add("balance-every-ms", "0");
  if (!o.trace.empty()) words.add("trace", o.trace);
  std::vector<char*> pointers = words.pointers();
  int count = words.count();
  return ix::run<program>(count, pointers.data());
}

}  // namespace jacobi
