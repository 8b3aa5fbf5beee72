#include "mpi/mpi_run.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "imbrex/base/build_config.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "mpi/mpi_box.h"
#include "system/memory_check.h"
#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/cuda_devices.h"
#include "mpi/mpi_gpu_box.h"
#include "support/mpi_halo_path.h"
#endif
#include "output/dump.h"
#include "output/screen.h"
#include "run_output.h"
#include "support/iteration_progress.h"
#include "support/mpi_session.h"
#include "system/thermodynamics.h"
#include "verification.h"

namespace md {
namespace {

class frames {
 public:
  frames(const options& o, const run_facts& f, bool writes) : options_(o), facts_(f) {
    if (!writes) return;
    for (const std::string& path : o.dumps) writers_.push_back(open_dump(path));
  }
  /// On all ranks.
  template <class Box>
  void after(std::int64_t step, Box& box) {
    if (!is_dump_step(options_, step)) return;
    const auto atoms = box.gather_atoms();
    for (const auto& w : writers_) {
      w->begin_frame(step, facts_.num_atoms, facts_.box);
      w->atoms(atoms);
      w->end_frame();
    }
  }

 private:
  const options& options_;
  const run_facts& facts_;
  std::vector<std::unique_ptr<dump_writer>> writers_;
};

using apps::mpi_session;

/// From the atoms to the end.
template <class Box>
int run_box(const mpi_session& mpi, const run_setup& s, const model& m, run_facts& f, Box& box) {
  const options& o = s.given();
  const bool speaks = mpi.rank() == 0;
  apps::iteration_progress shown(o.what.steps, speaks && !o.quiet);
  frames dumps(o, f, speaks);
  box.make();
  box.start();
  std::int64_t began = 0;
  const auto tell = [&](std::int64_t step) {
    thermo_row row = row_of(m.scale, step, box.sum_thermo());
    if (step == 0) began = imbrex::now_ns();
    row.seconds = static_cast<double>(imbrex::now_ns() - began) * 1e-9;
    f.thermo.push_back(row);
    if (speaks && !o.quiet) fmt::print("{}", row_text(row));
    std::fflush(stdout);
  };
  tell(0);
  dumps.after(0, box);
  for (std::int64_t step = 1; step <= o.what.steps; ++step) {
    box.step(step);
    shown.update(step);
    if (is_thermo_step(o.what, step)) tell(step);
    dumps.after(step, box);
  }
  shown.finish();
  const block_facts done = box.facts();
  if (done.atoms != f.num_atoms)
    throw imbrex::error(fmt::format("there are {} atoms at the end, and there were {}", done.atoms, f.num_atoms));
  note_facts(f, done, mpi.num_ranks());
  if (!speaks) return 0;
  conclude(o, f);
  return !o.verify || verify(s, f) ? 0 : 1;
}

run_facts facts_of(const mpi_session& mpi, int argc, char** argv, const run_setup& s, const model& m) {
  run_facts f = s.facts(argc, argv);
  f.num_chares = mpi.num_ranks();
  f.num_ranks = mpi.num_ranks();
  f.decomposition = m.boxes.boxes();
  return f;
}

int run_on_gpus([[maybe_unused]] const mpi_session& mpi, [[maybe_unused]] const run_setup& s,
                [[maybe_unused]] const model& m, [[maybe_unused]] run_facts& f) {
#if IMBREX_HAVE_CUDA
  const apps::halo_path path = apps::mpi_halo_path(mpi.comm(), s.given().halos);
  static_cast<void>(gpu_around(m.boxes, {0, 0, 0}));
  apps::mpi_gpu gpu(imbrex::cuda_devices::choose(1, mpi.local_rank(), mpi.num_local_ranks()).front());
  f.num_gpus = mpi.num_ranks();
  f.gpu_halos = apps::name(path);
  f.instruction_set = "cuda";
  if (mpi.rank() == 0) print_head(s.given(), f);
  mpi_gpu_box box(s, m, mpi.comm(), gpu, path);
  return run_box(mpi, s, m, f, box);
#else
  throw imbrex::not_built("--device cuda needs CUDA: install its toolkit and configure again");
#endif
}

int run_ranks(const mpi_session& mpi, int argc, char** argv, const options& o) {
  const run_setup s(o);
  const model m = s.model_of(s.cut_into(mpi.num_ranks()));
  run_facts f = facts_of(mpi, argc, argv, s, m);
  if (mpi.rank() == 0) check_outputs(o);
  if (o.device == "cuda") return run_on_gpus(mpi, s, m, f);
  check_memory(m, mpi.num_ranks(), mpi.num_local_ranks());
  if (mpi.rank() == 0) print_head(o, f);
  mpi_box box(s, m, mpi.comm());
  return run_box(mpi, s, m, f, box);
}

}  // namespace

int run_mpi(int argc, char** argv, const options& o) {
  const mpi_session mpi(argc, argv);
  int code = 1;
  try {
    code = run_ranks(mpi, argc, argv, o);
  } catch (const imbrex::error& e) {
    fmt::print(stderr, "minimd: {}\n", e.what());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, e.exit_code());
  }
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return code;
}

}  // namespace md
