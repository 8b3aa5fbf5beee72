#pragma once

#include <fmt/format.h>
#include <imbrex/clock.h>
#include <imbrex/imbrex.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "chares/chare_block.h"
#include "chares/chare_state.h"
#include "field/field_output.h"
#include "field/serial_reference.h"
#include "options.h"
#include "result.h"
#include "support/iteration_progress.h"
#include "support/output_place.h"
#include "support/removed_by_signal.h"

/// What the main chare does with an array of blocks, on the host or on GPUs.
namespace jacobi {

namespace ix = imbrex;

/// Files whose temporaries vanish if the run ends without having committed them, however it ends.
class guarded_outputs {
 public:
  guarded_outputs(const options& o, const decomposition& blocks)
      : suffix_(apps::free_suffix(o.outputs)), outputs_(o.outputs, blocks, suffix_), unfinished_(outputs_.parts()) {
    outputs_.create();
  }
  ~guarded_outputs() {
    if (!committed_) outputs_.abandon();
  }
  guarded_outputs(const guarded_outputs&) = delete;
  guarded_outputs& operator=(const guarded_outputs&) = delete;
  bool empty() const { return outputs_.empty(); }
  const std::string& suffix() const { return suffix_; }
  void commit() {
    outputs_.commit();
    committed_ = true;
  }

 private:
  std::string suffix_;
  field_outputs outputs_;
  apps::removed_by_signal unfinished_;
  bool committed_ = false;
};

template <class Block>
ix::array_proxy<Block> create_blocks(ix::runtime& rt, const options& o, const decomposition& cut) {
  const ix::index3d extent{cut.cx(), cut.cy(), cut.cz()};
  if (o.map == map_kind::round_robin) return rt.create_array<Block>(ix::placed(extent, ix::map::round_robin{}));
  return rt.create_array<Block>(extent);
}

/// Computes the reference here and sends every block what it should hold, a few at a time.
template <class Block>
ix::task<verification> verify(ix::array_proxy<Block> blocks, const options* o, const decomposition* cut,
                              std::int64_t iterations) {
  serial_reference reference(*o);
  verification all{reference.run() == iterations, 0};
  for (std::int64_t n = 0; n < cut->num_blocks(); ++n) {
    const block_position p = cut->position(n);
    auto compared =
        blocks[ix::index3d{p.x, p.y, p.z}].template call<&Block::compare>(reference.copy_box(cut->cells(p)));
    const verification one = co_await std::move(compared);
    all = combine(all, one);
  }
  co_return all;
}

template <class Block>
ix::task<> write_outputs(ix::array_proxy<Block> blocks, guarded_outputs* outputs) {
  if (outputs->empty()) co_return;
  blocks.template broadcast<&Block::write>(outputs->suffix());
  const std::string failures = co_await blocks.template reduction<std::string>();
  if (!failures.empty()) throw ix::config_error(failures.substr(0, failures.find('\n')));
  outputs->commit();
}

/// What was known before the run, for the header.
inline result facts_of(const ix::runtime& rt, const options& o, const decomposition& cut) {
  result r;
  r.grid = o.grid;
  r.cx = cut.cx();
  r.cy = cut.cy();
  r.cz = cut.cz();
  r.pes = rt.pes_per_rank();
  r.ranks = rt.num_ranks();
  r.transport = rt.transport_name();
  r.impl = o.impl;
  r.warm_up = o.warm_up;
  r.why_no_gpu = rt.why_no_gpu();
  return r;
}

inline void note_balancing(const ix::runtime& rt, result& r) {
  const ix::balance_summary balanced = rt.balancing();
  r.balance_looks = balanced.num_rounds;
  r.balance_moves = balanced.num_moves;
  r.first_efficiency = balanced.first_efficiency;
  r.last_efficiency = balanced.last_efficiency;
  r.mean_efficiency = balanced.mean_efficiency();
}

/// Notes how a repeat ended, and what its iterations took of which this run has done the last.
inline void note_outcome(const repeat_outcome& outcome, double microseconds, result& r) {
  r.iterations = outcome.iterations;
  r.converged = outcome.converged;
  if (outcome.has_norm) r.change_norm = outcome.norm;
  if (outcome.iterations > outcome.done_before)
    r.iteration_us.push_back(microseconds / static_cast<double>(outcome.iterations - outcome.done_before));
}

/// One repeat, or what is left of it after a restart; its time and iterations go to `r`. `job` may be null.
template <class Block>
ix::task<> run_repeat(ix::array_proxy<Block> blocks, const options* o, result* r, std::int64_t done_before,
                      job_state* job) {
  using clock = ix::clock;
  if (job == nullptr || !job->iterating) {
    blocks.template broadcast<&Block::prepare>(done_before);
    const std::string failures = co_await blocks.template reduction<std::string>();
    if (!failures.empty()) throw ix::usage_error(failures.substr(0, failures.find('\n')));
    if (job != nullptr) job->iterating = true;
  }
  const clock::time_point begin = clock::now();
  blocks.template broadcast<&Block::iterate>(done_before + o->warm_up);
  const auto outcome = co_await blocks.template reduction<repeat_outcome>();
  const double microseconds = std::chrono::duration<double, std::micro>(clock::now() - begin).count();
  note_outcome(outcome, microseconds, *r);
  if (job == nullptr) co_return;
  job->iterating = false;
  ++job->repeat;
  job->iteration_us = r->iteration_us;
}

/// All repeats that `job` has not done yet (null: all), with the progress line.
template <class Block>
ix::task<> run_repeats(ix::array_proxy<Block> blocks, const options* o, result* r, job_state* job) {
  if (job != nullptr) r->iteration_us = job->iteration_us;
  const std::int64_t each = o->warm_up + o->iterations;
  apps::iteration_progress shown(o->repeats * each, !o->quiet);
  this_job.shown = &shown;
  for (int repeat = job != nullptr ? job->repeat : 0; repeat < o->repeats; ++repeat) {
    auto one = run_repeat(blocks, o, r, repeat * each, job);
    co_await one;
  }
  shown.finish();
  this_job.shown = nullptr;
}

/// Everything after the iterations: hash, outputs, verification, report.
template <class Block>
ix::task<int> conclude(ix::array_proxy<Block> blocks, const options* o, const decomposition* cut, result* r,
                       guarded_outputs* outputs) {
  blocks.template broadcast<&Block::hash>();
  r->field_hash = co_await blocks.template reduction<std::uint64_t>();
  auto written = write_outputs(blocks, outputs);
  co_await written;
  if (o->verify) {
    auto checked = verify(blocks, o, cut, r->iterations);
    r->verified = co_await checked;
  }
  write_report(*o, *r);
  if (!o->quiet) fmt::print("{}", summary_text(*o, *r));
  co_return exit_code(*r);
}

/// The main chare on GPUs; `restarted`: of what `job` knows; `tuned`: what `auto` was found to be.
ix::task<int> run_on_gpus(ix::runtime& rt, job_state* job, bool restarted, std::string tuned);
/// The main chare of --impl hetero, on any device.
ix::task<int> start_with_tasks(ix::runtime& rt);

}  // namespace jacobi
