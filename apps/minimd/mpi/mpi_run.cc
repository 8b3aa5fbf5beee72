#include "mpi/mpi_run.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "mpi/mpi_box.h"
#include "output/dump.h"
#include "output/screen.h"
#include "support/iteration_progress.h"
#include "system/serial_run.h"

namespace md {
namespace {

/// MPI as long as it lives; ends all ranks when an exception ends this one.
class mpi_session {
 public:
  mpi_session(int* argc, char*** argv) { MPI_Init(argc, argv); }
  ~mpi_session() { MPI_Finalize(); }
  mpi_session(const mpi_session&) = delete;
  mpi_session& operator=(const mpi_session&) = delete;
};

class frames {
 public:
  frames(const options& o, const run_facts& f, bool writes) : options_(o), facts_(f) {
    if (!writes) return;
    for (const std::string& path : o.dumps) writers_.push_back(open_dump(path));
  }
  /// On all ranks.
  void after(std::int64_t step, const mpi_box& box) {
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

int run_ranks(int argc, char** argv, const options& o, int rank, int num_ranks) {
  const bool speaks = rank == 0;
  const run_setup s(o);
  const model m = s.model_of(s.cut_into(num_ranks));
  run_facts f = s.facts(argc, argv);
  f.num_chares = num_ranks;
  f.num_ranks = num_ranks;
  f.decomposition = m.boxes.boxes();
  if (speaks) check_outputs(o);
  if (speaks) print_head(o, f);

  apps::iteration_progress shown(o.what.steps, speaks && !o.quiet);
  frames dumps(o, f, speaks);
  mpi_box box(s, m, MPI_COMM_WORLD);
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
  note_facts(f, done, num_ranks);
  if (!speaks) return 0;
  conclude(o, f);
  return !o.verify || verify(s, f) ? 0 : 1;
}

}  // namespace

int run_mpi(int argc, char** argv, const options& o) {
  const mpi_session session(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int code = 1;
  try {
    code = run_ranks(argc, argv, o, rank, size);
  } catch (const imbrex::error& e) {
    fmt::print(stderr, "minimd: {}\n", e.what());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, e.exit_code());
  }
  MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return code;
}

}  // namespace md
