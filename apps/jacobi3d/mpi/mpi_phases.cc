#include "mpi/mpi_phases.h"

#include <fmt/format.h>
#include <mpi.h>

#include <chrono>
#include <cmath>

#include "field/serial_reference.h"
#include "imbrex/base/error.h"
#include "memory_check.h"
#include "mpi/mpi_agreement.h"
#include "mpi/mpi_verification.h"
#include "stopping_rule.h"
#include "support/iteration_progress.h"
#include "support/output_place.h"
#include "support/removed_by_signal.h"

namespace jacobi {
namespace {

using steady_clock = std::chrono::steady_clock;

/// Sums the change up over all ranks while the next iteration runs.
class change_check {
 public:
  explicit change_check(MPI_Comm comm) : comm_(comm) {}

  void start(mpi_block& block) {
    share_ = block.squared_changes();
    MPI_Iallreduce(share_.data(), total_.data(), apps::exact_sum::num_limbs, MPI_INT64_T, MPI_SUM, comm_, &request_);
  }
  /// The L2 norm.
  double finish() {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    return std::sqrt(apps::exact_sum(total_).to_double());
  }

 private:
  MPI_Comm comm_;
  apps::exact_sum::limb_array share_{}, total_{};
  MPI_Request request_ = MPI_REQUEST_NULL;
};

void warm_up(mpi_block& block, const options& o, apps::iteration_progress& shown, std::int64_t done_before) {
  for (std::int64_t i = 0; i < o.warm_up; ++i) {
    block.iterate();
    shown.update(done_before + i + 1);
  }
  block.finish();
}

/// Up to `o.iterations` iterations: stopping_rule.h says when they end. Leaves their number and the change in `r`.
void iterate(mpi_block& block, const options& o, result& r, apps::iteration_progress& shown, std::int64_t done_before) {
  const stopping_rule rule(o.tolerance, o.check_every, o.iterations);
  change_check check(apps::mpi_session::comm());
  bool last = false;
  std::int64_t k = 0;
  while (k < rule.limit() && !last) {
    ++k;
    if (rule.consumed_before(k)) {
      r.change_norm = check.finish();
      last = rule.met(*r.change_norm);
    }
    block.iterate();
    if (rule.is_check(k) && !last) check.start(block);
    shown.update(done_before + k);
  }
  block.finish();
  r.iterations = k;
  r.converged = last;
}

/// One repeat. Leaves its time and its iterations in `r`.
void run_repeat(mpi_block& block, const options& o, result& r, apps::iteration_progress& shown,
                std::int64_t done_before) {
  agree(apps::mpi_session::comm(), [&] { block.set_initial_state(); });
  alone([&] { warm_up(block, o, shown, done_before); });
  MPI_Barrier(apps::mpi_session::comm());
  const steady_clock::time_point begin = steady_clock::now();
  alone([&] { iterate(block, o, r, shown, done_before + o.warm_up); });
  MPI_Barrier(apps::mpi_session::comm());
  const double microseconds = std::chrono::duration<double, std::micro>(steady_clock::now() - begin).count();
  if (r.iterations > 0) r.iteration_us.push_back(microseconds / static_cast<double>(r.iterations));
}

std::uint64_t total_hash(const apps::mpi_session& mpi, mpi_block& block) {
  std::uint64_t sum = 0;
  agree(mpi.comm(), [&] { sum = block.hash(); });
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, mpi.comm());
  return sum;
}

/// Chosen by rank 0.
std::string agreed_suffix(const apps::mpi_session& mpi, const std::vector<std::string>& paths) {
  std::string suffix = mpi.rank() == 0 ? apps::free_suffix(paths) : "";
  int length = static_cast<int>(suffix.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, mpi.comm());
  suffix.resize(static_cast<std::size_t>(length));
  MPI_Bcast(suffix.data(), length, MPI_CHAR, 0, mpi.comm());
  return suffix;
}

/// Files whose temporaries vanish if the run ends without having committed them.
class guarded_outputs {
 public:
  guarded_outputs(const apps::mpi_session& mpi, const options& o, const decomposition& blocks)
      : mpi_(mpi),
        outputs_(o.outputs, blocks, agreed_suffix(mpi, o.outputs)),
        unfinished_(mpi.rank() == 0 ? outputs_.parts() : std::vector<std::string>()) {
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

  void write(mpi_block& block) {
    if (!outputs_.empty()) agree(mpi_.comm(), [&] { block.write(outputs_); });
    agree(mpi_.comm(), [&] {
      if (mpi_.rank() == 0) outputs_.commit();
    });
    committed_ = true;
  }

 private:
  const apps::mpi_session& mpi_;
  field_outputs outputs_;
  apps::removed_by_signal unfinished_;
  bool committed_ = false;
};

}  // namespace

decomposition decompose(const options& o, int num_ranks, std::int64_t x_weight) {
  if (o.num_chares && *o.num_chares != num_ranks)
    throw imbrex::usage_error(
        fmt::format("-c {} does not fit {} MPI ranks: with --impl mpi every rank has one block, so leave -c out or use "
                    "mpirun -n {}",
                    *o.num_chares, num_ranks, *o.num_chares));
  return decomposition::of_least_surface(o.grid, num_ranks, x_weight);
}

void check_node_memory(const apps::mpi_session& mpi, const options& o, const decomposition& blocks,
                       std::uint64_t of_block) {
  std::uint64_t needed = of_block;
  if (o.verify) needed += static_cast<std::uint64_t>(blocks.cells({0, 0, 0}).size.cells()) * sizeof(double);
  if (o.verify && mpi.rank() == 0) needed += serial_reference::bytes_needed(o.grid);
  MPI_Allreduce(MPI_IN_PLACE, &needed, 1, MPI_UINT64_T, MPI_SUM, mpi.node());
  agree(mpi.comm(), [&] { check_memory(needed); });
}

result facts_of(const apps::mpi_session& mpi, const options& o, const decomposition& blocks) {
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
  return r;
}

int run_phases(const apps::mpi_session& mpi, const options& o, const decomposition& blocks, const result& known,
               const block_maker& make_block) {
  const bool speaks = mpi.rank() == 0 && !o.quiet;
  result r = known;
  guarded_outputs outputs(mpi, o, blocks);
  if (speaks) fmt::print("{}", header_text(o, r));
  std::unique_ptr<mpi_block> block;
  agree(mpi.comm(), [&] { block = make_block(); });
  const std::int64_t each = o.warm_up + o.iterations;
  apps::iteration_progress shown(o.repeats * each, speaks);
  for (int repeat = 0; repeat < o.repeats; ++repeat) run_repeat(*block, o, r, shown, repeat * each);
  shown.finish();

  r.field_hash = total_hash(mpi, *block);
  outputs.write(*block);
  if (o.verify) r.verified = verify_by_reference(mpi.comm(), o, blocks, *block, r.iterations);
  agree(mpi.comm(), [&] {
    if (mpi.rank() == 0) write_report(o, r);
  });
  if (speaks) fmt::print("{}", summary_text(o, r));
  return exit_code(r);
}

}  // namespace jacobi
