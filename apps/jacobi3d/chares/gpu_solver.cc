// The main chare of Jacobi3D on GPUs.
#include <chrono>
#include <map>

#include "chares/chare_driver.h"
#include "chares/chare_tuning.h"
#include "chares/gpu_block.h"
#include "chares/gpu_strategy.h"
#include "memory_check.h"

namespace jacobi {
namespace {

using gpu_blocks = ix::array_proxy<gpu_block>;

/// Says before the run what it needs, if a GPU of this rank does not have it; the other ranks have as many blocks.
void check_gpu_memory(const ix::runtime& rt, const options& o, const decomposition& cut, const gpu_strategy& how) {
  const std::int64_t blocks = cut.num_blocks();
  std::map<int, std::uint64_t> needed;
  for (std::int64_t n = 0; n < blocks; ++n) {
    const std::int64_t place = o.map == map_kind::round_robin ? n % rt.num_pes() : n * rt.num_pes() / blocks;
    const auto pe = static_cast<ix::pe_id>(place);
    if (pe < rt.pes_per_rank()) needed[rt.gpu_of(pe)] += gpu_bytes_of_block(cut.cells(cut.position(n)).size, how);
  }
  constexpr double gb = 1e9;
  for (const auto& [gpu, bytes] : needed) {
    const std::uint64_t free = rt.gpu(gpu).memory().free;
    if (bytes <= free) continue;
    throw ix::out_of_memory(fmt::format(
        "not enough memory on GPU {} ({}): the run needs {:.1f} GB there and {:.1f} GB are free: use a smaller grid "
        "(-x -y -z) or more GPUs",
        gpu, rt.gpu(gpu).name(), static_cast<double>(bytes) / gb, static_cast<double>(free) / gb));
  }
}

decomposition cut_of(const ix::runtime& rt, const options& o, const gpu_strategy& how) {
  if (how.resident) {
    decomposition stack(o.grid, 1, 1, rt.num_pes());
    const std::string obstacle =
        ix::resident_star::why_not(rt.gpu(0), gpu_resident_steps::grid_of(stack.cells({0, 0, 0}).size));
    if (!obstacle.empty()) throw ix::usage_error("--steps resident cannot be used: " + obstacle);
    return stack;
  }
  return decomposition::of_least_surface(o.grid, chare_count(o, rt.num_pes()), gpu_x_face_weight);
}

ix::task<repeat_outcome> iterate(gpu_blocks blocks, std::int64_t done_before) {
  blocks.broadcast<&gpu_block::iterate>(done_before);
  co_return co_await blocks.reduction<repeat_outcome>();
}

/// One repeat; its time and iterations go to `r`.
ix::task<> run_repeat(gpu_blocks blocks, const options* o, result* r, job_state* job) {
  const std::int64_t done_before = job->repeat * (o->warm_up + o->iterations);
  if (!job->iterating) {
    blocks.broadcast<&gpu_block::prepare>(done_before);
    const std::string failures = co_await blocks.reduction<std::string>();
    if (!failures.empty()) throw ix::usage_error(failures.substr(0, failures.find('\n')));
    job->iterating = true;
  }
  const ix::clock::time_point begin = ix::clock::now();
  auto timed = iterate(blocks, done_before + o->warm_up);
  const repeat_outcome outcome = co_await timed;
  const double microseconds = std::chrono::duration<double, std::micro>(ix::clock::now() - begin).count();
  note_outcome(outcome, microseconds, *r);
  job->iterating = false;
  ++job->repeat;
  job->iteration_us = r->iteration_us;
}

}  // namespace

ix::task<double> try_on_gpus(ix::runtime& rt) {
  const options& o = *this_job.given;
  const gpu_strategy how = gpu_strategy::of(o, rt);
  const decomposition cut = cut_of(rt, o, how);
  check_steps_fit(cut, o);
  check_gpu_memory(rt, o, cut, how);
  const gpu_blocks blocks = create_blocks<gpu_block>(rt, o, cut);
  job_state job;
  result r;
  auto one = run_repeat(blocks, &o, &r, &job);
  co_await one;
  blocks.destroy();
  co_await rt.quiescence();
  co_return r.iteration_us.back();
}

ix::task<int> run_on_gpus(ix::runtime& rt, job_state* job, bool restarted, std::string tuned) {
  const options& o = *this_job.given;
  const gpu_strategy how = gpu_strategy::of(o, rt);
  if (restarted) check_restarted_state(*job, o, true);
  const decomposition cut = restarted ? job->cut() : cut_of(rt, o, how);
  result r = facts_of(rt, o, cut);
  r.device = "cuda";
  r.gpus = rt.num_gpus();
  r.gpu_strategy = how.text();
  r.tuned = std::move(tuned);
  check_report_writable(o);
  check_steps_fit(cut, o);
  check_gpu_memory(rt, o, cut, how);
  if (o.verify) check_memory(serial_reference::bytes_needed(o.grid));
  guarded_outputs outputs(o, cut);
  if (!o.quiet) fmt::print("{}", header_text(o, r));
  std::fflush(stdout);

  const std::int64_t each = o.warm_up + o.iterations;
  apps::iteration_progress shown(o.repeats * each, !o.quiet);
  this_job.shown = &shown;
  if (!restarted) {
    begin_state(*job, o, cut, true);
    job->gpu_blocks = create_blocks<gpu_block>(rt, o, cut);
  }
  const gpu_blocks blocks = job->gpu_blocks;
  r.iteration_us = job->iteration_us;
  while (job->repeat < o.repeats) {
    auto one = run_repeat(blocks, &o, &r, job);
    co_await one;
  }
  shown.finish();
  this_job.shown = nullptr;
  note_balancing(rt, r);
  auto concluded = conclude(blocks, &o, &cut, &r, &outputs);
  co_return co_await concluded;
}

}  // namespace jacobi
