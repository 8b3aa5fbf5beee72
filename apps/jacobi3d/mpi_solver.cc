#include "mpi_solver.h"

#include <fmt/format.h>
#include <mpi.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "block_field.h"
#include "change_sum.h"
#include "field_hash.h"
#include "field_output.h"
#include "imbrex/base/error.h"
#include "initial_state.h"
#include "kernel.h"
#include "memory_check.h"
#include "mpi_agreement.h"
#include "mpi_halo_exchange.h"
#include "mpi_verification.h"
#include "progress.h"
#include "result.h"
#include "serial_reference.h"
#include "stopping_rule.h"

namespace jacobi {
namespace {

using steady_clock = std::chrono::steady_clock;

/// The communicator of the run, from MPI_Init to MPI_Finalize.
class mpi_session {
 public:
  mpi_session(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm(), &rank_);
    MPI_Comm_size(comm(), &num_ranks_);
  }
  ~mpi_session() { MPI_Finalize(); }
  mpi_session(const mpi_session&) = delete;
  mpi_session& operator=(const mpi_session&) = delete;
  static MPI_Comm comm() { return MPI_COMM_WORLD; }
  int rank() const { return rank_; }
  int num_ranks() const { return num_ranks_; }

 private:
  int rank_ = 0, num_ranks_ = 1;
};

decomposition decompose(const options& o, int num_ranks) {
  if (o.num_chares && *o.num_chares != num_ranks)
    throw imbrex::usage_error(
        fmt::format("-c {} does not fit {} MPI ranks: with --impl mpi every rank has one block, so leave -c out or use "
                    "mpirun -n {}",
                    *o.num_chares, num_ranks, *o.num_chares));
  return decomposition::of_least_surface(o.grid, num_ranks);
}

/// Adds the bytes that the ranks of a node need; their first rank compares them with what there is.
void check_node_memory(const mpi_session& mpi, const options& o, const decomposition& blocks) {
  const extents block = blocks.cells({0, 0, 0}).size;
  std::uint64_t needed = block_field::bytes_needed(block);
  if (o.verify) needed += static_cast<std::uint64_t>(block.cells()) * sizeof(double);
  if (o.verify && mpi.rank() == 0) needed += serial_reference::bytes_needed(o.grid);
  MPI_Comm node;
  MPI_Comm_split_type(mpi.comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Allreduce(MPI_IN_PLACE, &needed, 1, MPI_UINT64_T, MPI_SUM, node);
  MPI_Comm_free(&node);
  agree(mpi.comm(), [&] { check_memory(needed); });
}

/// Collective. The memory of every rank's block, or the same error on all.
block_field allocate_block(const mpi_session& mpi, const options& o, const decomposition& blocks) {
  std::optional<block_field> field;
  agree(mpi.comm(), [&] { field.emplace(blocks.cells(blocks.position(mpi.rank())).size, o.boundary.value); });
  return std::move(*field);
}

/// One rank's block and its iterations.
class rank_solver {
 public:
  rank_solver(const mpi_session& mpi, const options& o, const decomposition& blocks, block_field field)
      : mpi_(mpi),
        options_(o),
        position_(blocks.position(mpi.rank())),
        cells_(blocks.cells(position_)),
        field_(std::move(field)),
        exchange_(mpi.comm(), blocks, position_, o.boundary.periodic),
        kernel_(o.formula, choose_store_policy(field_bytes(cells_.size) * node_ranks(mpi))) {}

  /// Throws if an input cannot be read; collective.
  void reset() {
    agree(mpi_.comm(), [&] {
      set_initial_state(field_, options_.grid, cells_, options_.initial, options_.boundary);
      field_.reset_ghosts(options_.boundary.value);
    });
  }

  void iterate() {
    exchange_.start(field_);
    if (options_.overlap) {
      kernel_.update_interior(field_.view(), exchange_.pending());
      exchange_.wait();
      kernel_.update_exterior(field_.view(), exchange_.pending());
    } else {
      exchange_.wait();
      kernel_.update(field_.view());
    }
    field_.advance();
  }

  /// Starts the reduction of the change that the last iteration made.
  void start_check() {
    exact_sum sum;
    add_squared_changes(sum, field_.previous(), field_.current(), cells_.size, field_.pitch());
    share_ = sum.limbs();
    MPI_Iallreduce(share_.data(), total_.data(), exact_sum::num_limbs, MPI_INT64_T, MPI_SUM, mpi_.comm(), &check_);
  }

  double finish_check() {
    MPI_Wait(&check_, MPI_STATUS_IGNORE);
    return std::sqrt(exact_sum(total_).to_double());
  }

  block_position position() const { return position_; }
  const box& cells() const { return cells_; }
  const block_field& field() const { return field_; }

 private:
  static std::uint64_t field_bytes(extents size) {
    return 2 * sizeof(double) * static_cast<std::uint64_t>(row_pitch(size.nx) * size.ny * size.nz);
  }
  static std::uint64_t node_ranks(const mpi_session& mpi) {
    MPI_Comm node;
    MPI_Comm_split_type(mpi.comm(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int size = 1;
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return static_cast<std::uint64_t>(size);
  }

  const mpi_session& mpi_;
  const options& options_;
  block_position position_;
  box cells_;
  block_field field_;
  mpi_halo_exchange exchange_;
  update_kernel kernel_;
  exact_sum::limb_array share_{}, total_{};
  MPI_Request check_ = MPI_REQUEST_NULL;
};

/// One repeat: stopping_rule.h says when it ends. Leaves its time and its iterations in `r`.
void run_repeat(rank_solver& solver, const options& o, result& r, progress& shown, std::int64_t done_before) {
  const stopping_rule rule(o.tolerance, o.check_every, o.iterations);
  solver.reset();
  for (std::int64_t i = 0; i < o.warm_up; ++i) {
    solver.iterate();
    shown.update(done_before + i + 1);
  }
  MPI_Barrier(mpi_session::comm());
  const steady_clock::time_point begin = steady_clock::now();
  bool last = false;
  std::int64_t k = 0;
  while (k < rule.limit() && !last) {
    ++k;
    if (rule.consumed_before(k)) {
      r.change_norm = solver.finish_check();
      last = rule.met(*r.change_norm);
    }
    solver.iterate();
    if (rule.is_check(k) && !last) solver.start_check();
    shown.update(done_before + o.warm_up + k);
  }
  MPI_Barrier(mpi_session::comm());
  const double microseconds = std::chrono::duration<double, std::micro>(steady_clock::now() - begin).count();
  r.iterations = k;
  r.converged = last;
  if (k > 0) r.iteration_us.push_back(microseconds / static_cast<double>(k));
}

std::uint64_t total_hash(const mpi_session& mpi, const options& o, const rank_solver& solver) {
  std::uint64_t sum = hash_share(o.grid, solver.cells(), solver.field().current(), solver.field().pitch());
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, mpi.comm());
  return sum;
}

/// Files whose temporaries vanish if the run ends without having committed them.
class guarded_outputs {
 public:
  guarded_outputs(const mpi_session& mpi, const options& o, const decomposition& blocks)
      : mpi_(mpi), outputs_(o.outputs, blocks) {
    agree(mpi.comm(), [&] {
      if (mpi_.rank() != 0) return;
      check_report_writable(o);
      outputs_.create();
    });
  }
  ~guarded_outputs() {
    if (!committed_ && mpi_.rank() == 0) outputs_.abandon();
  }
  guarded_outputs(const guarded_outputs&) = delete;
  guarded_outputs& operator=(const guarded_outputs&) = delete;

  void write(const rank_solver& solver) {
    agree(mpi_.comm(), [&] { outputs_.write(solver.position(), solver.field().current(), solver.field().pitch()); });
    agree(mpi_.comm(), [&] {
      if (mpi_.rank() == 0) outputs_.commit();
    });
    committed_ = true;
  }

 private:
  const mpi_session& mpi_;
  field_outputs outputs_;
  bool committed_ = false;
};

int solve(const mpi_session& mpi, const options& o) {
  agree_on_options(mpi.comm(), digest(o));
  const decomposition blocks = decompose(o, mpi.num_ranks());
  const bool speaks = mpi.rank() == 0 && !o.quiet;
  result r;
  r.grid = o.grid;
  r.cx = blocks.cx();
  r.cy = blocks.cy();
  r.cz = blocks.cz();
  r.ranks = mpi.num_ranks();
  r.transport = "mpi";
  r.impl = implementation::mpi;
  r.overlap = o.overlap;
  r.warm_up = o.warm_up;

  check_node_memory(mpi, o, blocks);
  guarded_outputs outputs(mpi, o, blocks);
  if (speaks) fmt::print("{}", header_text(o, r));
  rank_solver solver(mpi, o, blocks, allocate_block(mpi, o, blocks));
  const std::int64_t each = o.warm_up + o.iterations;
  progress shown(o.repeats * each, speaks);
  for (int repeat = 0; repeat < o.repeats; ++repeat) run_repeat(solver, o, r, shown, repeat * each);
  shown.finish();

  r.field_hash = total_hash(mpi, o, solver);
  outputs.write(solver);
  if (o.verify) r.verified = verify_by_reference(mpi.comm(), o, blocks, solver.field(), r.iterations);
  agree(mpi.comm(), [&] {
    if (mpi.rank() == 0) write_report(o, r);
  });
  if (speaks) fmt::print("{}", summary_text(o, r));
  return exit_code(r);
}

}  // namespace

int run_mpi_solver(int argc, char** argv, const options& o) {
  const mpi_session mpi(argc, argv);
  try {
    return solve(mpi, o);
  } catch (const imbrex::error& e) {  // the same one on every rank: see agree
    if (mpi.rank() == 0) fmt::print(stderr, "jacobi3d: {}\n", e.what());
    return e.exit_code();
  } catch (const std::exception& e) {  // of this rank alone: the others are waiting for it
    fmt::print(stderr, "jacobi3d: rank {}: {}\n", mpi.rank(), e.what());
    MPI_Abort(mpi.comm(), 1);
    return 1;
  }
}

}  // namespace jacobi
