#include "chares/chare_run.h"

#include <fmt/format.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "chares/block.h"
#include "chares/collector.h"
#include "imbrex/base/build_config.h"
#if IMBREX_HAVE_CUDA
#include "chares/gpu_box.h"
#endif
#include "output/screen.h"
#include "run_output.h"
#include "run_setup.h"
#include "support/iteration_progress.h"
#include "support/words/runtime_words.h"
#include "system/initial_state.h"
#include "system/memory_check.h"
#include "system/sums.h"
#include "system/thermodynamics.h"
#include "verification.h"

namespace md {

class gpu_box;  // which without CUDA there is not

namespace {

namespace ix = imbrex;

/// What this process was started with.
struct started_with {
  const run_setup* setup = nullptr;
  int argc = 0;
  char** argv = nullptr;
};
started_with words;

std::int64_t num_blocks(const options& o, int num_pes) {
  return o.num_chares ? *o.num_chares : static_cast<std::int64_t>(o.odf.value_or(1)) * num_pes;
}

/// Most chares would have no atom, and each costs memory and messages in every step.
void check_num_blocks(std::int64_t count, std::int64_t num_pes, std::int64_t num_atoms) {
  const std::int64_t most = std::max(num_pes, num_atoms);
  if (count > most)
    throw ix::usage_error(fmt::format("{} chares are too many for {} atoms: use at most {}", count, num_atoms, most));
}

template <class Box>
ix::task<> make_atoms(ix::array_proxy<Box> boxes, const run_setup* s, const units* scale) {
  boxes.template broadcast<&Box::make>();
  const limbs_of<3> sums = co_await boxes.template reduction<limbs_of<3>>();
  if (!needs_velocities(s->initial())) co_return;
  const apps::exact_sum each[3] = {sum_from(sums, 0), sum_from(sums, 1), sum_from(sums, 2)};
  boxes.template broadcast<&Box::shift_velocities>(mean_velocity(*scale, each));
  const limbs_of<1> mvv = co_await boxes.template reduction<limbs_of<1>>();
  boxes.template broadcast<&Box::scale_velocities>(
      velocity_factor(*scale, s->given().what.temperature, sum_from(mvv, 0).to_double()));
}

void print_row(const options& o, const thermo_row& row) {
  if (o.quiet) return;
  fmt::print("{}", row_text(row));
  std::fflush(stdout);
}

/// What the main chare knows of a run under way, and needs to go on with it after a restart.
struct run_state {
  ix::array_proxy<block> boxes;
  ix::array_proxy<gpu_box> gpu_boxes;
  bool on_gpus = false;
  ix::element_proxy<collector> dumps;
  box_index cut{};
  std::int64_t num_atoms = 0;
  std::vector<thermo_row> rows;
  bool is_running = false;  ///< velocities are set

  template <class Archive>
  void serialize(Archive& ar) {
    ar & boxes & gpu_boxes & on_gpus & dumps & cut & num_atoms & rows & is_running;
  }

  /// The boxes of that type.
  template <class Box>
  ix::array_proxy<Box>& all() {
    if constexpr (std::is_same_v<Box, block>) {
      return boxes;
    } else {
      return gpu_boxes;
    }
  }
};

/// The rows that `state` does not have yet.
template <class Box>
ix::task<> run_steps(ix::array_proxy<Box> boxes, const options* o, const units* scale, run_facts* f, run_state* state) {
  f->thermo = state->rows;
  for (const thermo_row& row : state->rows) print_row(*o, row);
  const std::vector<std::int64_t> steps = thermo_steps(o->what);
  for (std::size_t i = f->thermo.size(); i < steps.size(); ++i) {
    const std::int64_t step = steps[i];
    const thermo_share all = co_await boxes.template reduction<thermo_share>();
    thermo_row row = row_of(*scale, step, thermo_from(all.sums));
    row.seconds = step == 0 ? 0 : static_cast<double>(all.ns) * 1e-9;
    f->thermo.push_back(row);
    state->rows = f->thermo;
    print_row(*o, row);
  }
}

/// What follows when the boxes have been told to run.
template <class Box>
ix::task<int> see_to_the_end(ix::runtime* rt, ix::array_proxy<Box> boxes, run_facts* f, run_state* state) {
  const run_setup& s = *words.setup;
  const options& o = s.given();
  const units scale(o.what, s.num_atoms(), s.lengths());
  auto opened = state->dumps.call<&collector::open>(o.dumps, f->num_chares, f->num_atoms, f->box);
  co_await std::move(opened);
  boxes.template broadcast<&Box::sends_dumps_to>(state->dumps);
  boxes.template broadcast<&Box::run>();
  auto stepped = run_steps(boxes, &o, &scale, f, state);
  co_await stepped;
  const block_facts done = co_await boxes.template reduction<block_facts>();
  co_await rt->quiescence();  // all frames have been written
  if (done.atoms != f->num_atoms)
    throw ix::error(fmt::format("there are {} atoms at the end, and there were {}", done.atoms, f->num_atoms));
  note_facts(*f, done, rt->num_pes());
  const ix::balance_summary balanced = rt->balancing();
  f->balance = {o.balance, balanced.num_rounds, balanced.num_moved, balanced.first_efficiency,
                balanced.mean_efficiency()};
  conclude(o, *f);
  co_return !o.verify || verify(s, *f) ? 0 : 1;
}

run_facts facts_of(const ix::runtime& rt, const box_index& cut) {
  run_facts f = words.setup->facts(words.argc, words.argv);
  f.num_chares = static_cast<std::int64_t>(cut[0]) * cut[1] * cut[2];
  f.decomposition = cut;
  f.num_ranks = rt.num_ranks();
  f.pes_per_rank = rt.pes_per_rank();
  return f;
}

/// Boxes of that type, from their atoms, or from what `state` has, to the end. `job`: where they find what is shown.
template <class Box, class Job>
ix::task<int> run_boxes(ix::runtime* rt, box_index cut, run_facts* f, Job* job, run_state* state) {
  const run_setup& s = *words.setup;
  const options& o = s.given();
  const units scale(o.what, s.num_atoms(), s.lengths());
  apps::iteration_progress shown(o.what.steps, !o.quiet);
  job->shown = &shown;
  ix::array_proxy<Box>& boxes = state->all<Box>();
  if (!state->is_running) {
    boxes = rt->create_array<Box>(ix::index3d{cut[0], cut[1], cut[2]});
    state->dumps = rt->create_on<collector>(0);
    auto made = make_atoms(boxes, &s, &scale);
    co_await made;
    state->on_gpus = !std::is_same_v<Box, block>;
    state->cut = cut;
    state->num_atoms = f->num_atoms;
    state->is_running = true;
  }
  auto end = see_to_the_end(rt, boxes, f, state);
  const int code = co_await end;
  job->shown = nullptr;
  co_return code;
}

/// What makes no checkpoints yet says so, rather than to lose anything.
void check_checkpoints(const ix::runtime& rt, const options& o, const run_state& restarted, std::int64_t num_atoms) {
  const ix::checkpoint_options& c = rt.options().checkpoint;
  if (!c.at_points() && c.restart.empty()) return;
  if (restarted.is_running && restarted.num_atoms != num_atoms) {
    throw ix::usage_error(
        fmt::format("the checkpoint is of {} atoms, and {} were asked for: give the options of the "
                    "first run",
                    restarted.num_atoms, num_atoms));
  }
  const bool on_gpus = o.device == "cuda";
  if (restarted.is_running && restarted.on_gpus != on_gpus) {
    throw ix::usage_error(fmt::format("the checkpoint is of boxes {}: restart with --device {}",
                                      restarted.on_gpus ? "on GPUs" : "on the host",
                                      restarted.on_gpus ? "cuda" : "host"));
  }
}

/// Ranks that are no processes of their own share this one.
void check_host_memory(const ix::runtime& rt, const model& m) {
  const bool one_process = rt.options().virtual_time.is_wanted() || rt.transport_name() == "loopback";
  if (one_process)
    check_memory(m, 1, 1);
  else
    check_memory(m, rt.num_ranks(), rt.num_local_ranks());
}

ix::task<int> run_job(ix::runtime& rt, run_state* state) {
  const run_setup& s = *words.setup;
  const options& o = s.given();
  check_checkpoints(rt, o, *state, s.num_atoms());
  const std::int64_t count = num_blocks(o, rt.num_pes());
  if (!state->is_running) check_num_blocks(count, rt.num_pes(), s.num_atoms());
  const box_index cut = state->is_running ? state->cut : s.cut_into(count);
  run_facts f = facts_of(rt, cut);
  const model m = s.model_of(cut);  // refuses what cannot be, before anything is made
  if (o.device != "cuda") {
    check_host_memory(rt, m);
    print_head(o, f);
    auto on_host = run_boxes<block>(&rt, cut, &f, &this_job, state);
    co_return co_await on_host;
  }
#if IMBREX_HAVE_CUDA
  static_cast<void>(gpu_around(m.boxes, {0, 0, 0}));
  if (rt.options().virtual_time.is_wanted()) check_expected(o.what, s.initial() != nullptr, o.verify, !o.dumps.empty());
  f.num_gpus = rt.num_gpus() * rt.num_ranks();
  f.gpu_halos = apps::name(o.halos.value_or(apps::halo_path::device));
  f.gpu_streams = apps::name(o.streams);
  f.instruction_set = "cuda";
  print_head(o, f);
  auto on_gpus = run_boxes<gpu_box>(&rt, cut, &f, &this_gpu_job, state);
  co_return co_await on_gpus;
#else
  throw ix::not_built("--device cuda needs CUDA: install its toolkit and configure again");
#endif
}

struct program {
  run_state state;

  ix::task<int> start(ix::runtime& rt) { return run_job(rt, &state); }
  ix::task<int> restart(ix::runtime& rt) { return run_job(rt, &state); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & state;
  }
};

}  // namespace

int run_chares(int argc, char** argv, const options& o) {
  const run_setup setup(o);
  check_outputs(o);
  words = {&setup, argc, argv};
  this_job.setup = &setup;
#if IMBREX_HAVE_CUDA
  this_gpu_job.setup = &setup;
#endif
  apps::runtime_words all(argc, argv);
  if (o.pes > 0) all.add("pes", std::to_string(o.pes));
  if (o.device == "cuda") all.add("device", "cuda");
  if (!o.trace.empty()) all.add("trace", o.trace);
  if (!o.balance.empty()) all.add("balance", o.balance);
  std::vector<char*> pointers = all.pointers();
  int count = all.count();
  return ix::run<program>(count, pointers.data());
}

}  // namespace md
