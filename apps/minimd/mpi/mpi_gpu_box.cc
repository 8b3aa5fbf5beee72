#include "mpi/mpi_gpu_box.h"

#include "mpi/mpi_gather.h"
#include "system/initial_state.h"

namespace md {
namespace {

std::size_t sum(const std::vector<std::uint32_t>& all) {
  std::size_t n = 0;
  for (const std::uint32_t k : all) n += k;
  return n;
}

}  // namespace

mpi_gpu_box::mpi_gpu_box(const run_setup& s, const model& m, MPI_Comm all, apps::mpi_gpu& gpu, apps::halo_path path)
    : setup_(s),
      model_(m),
      all_ranks_(all),
      path_(path),
      stream_(gpu.device().make_stream(imbrex::stream_priority::low, "the rank's stream")),
      all_(m, m.boxes.box_at(rank_in(all)), *stream_) {}

void mpi_gpu_box::make() {
  domain box(model_, model_.boxes.box_at(rank_in(all_ranks_)));
  make_initial_atoms(box, model_, setup_.initial(), all_ranks_);
  all_.take(box);
  apps::synchronize(*stream_);
}

void mpi_gpu_box::start() {
  reneighbour();
  compute(0);
}

void mpi_gpu_box::step(std::int64_t number) {
  const std::int64_t every = model_.what.reneighbour_every;
  step_ = number;
  if (!has_advanced_) all_.step(false, true, false);
  all_.advance();
  every != 0 && number % every == 0 ? reneighbour() : exchange_positions();
  compute(number);
}

/// Finishes the step, and goes the first half of the next where velocities are not looked at in between.
void mpi_gpu_box::compute(std::int64_t number) {
  if (model_.embedded) {
    all_.embed();
    exchange_slopes();
  }
  has_advanced_ = number != model_.what.steps && !is_dump_step(setup_.given(), number);
  all_.step(number > 0, has_advanced_, number == 0 || is_thermo_step(model_.what, number));
}

thermo_sums mpi_gpu_box::sum_thermo() {
  const double* const total = all_.copy_sums();
  apps::synchronize(*stream_);
  thermo_sums mine;
  mine.kinetic.add(total[0]);
  mine.energy.add(total[1]);
  mine.virial.add(total[2]);
  return thermo_from(added(limbs(mine), all_ranks_));
}

block_facts mpi_gpu_box::facts() const {
  apps::synchronize(*stream_);
  return added({.atoms = all_.num_atoms(), .bytes = static_cast<std::int64_t>(all_.bytes())}, all_ranks_);
}

std::vector<dump_atom> mpi_gpu_box::gather_atoms() {
  all_.copy_atoms();
  apps::synchronize(*stream_);
  return gathered(all_.dump_atoms(), all_ranks_);
}

// ------------------------------------------------------------------------------------------------ messages

mpi_gpu_box::counts mpi_gpu_box::exchange_counts(const counts& out) const {
  counts in(out.size());
  std::vector<MPI_Request> all(2 * out.size());
  for (std::size_t p = 0; p < out.size(); ++p) {
    const int there = rank_of(all_.around().boxes[p]);
    MPI_Irecv(&in[p], 1, MPI_UINT32_T, there, 0, all_ranks_, &all[2 * p]);
    MPI_Isend(&out[p], 1, MPI_UINT32_T, there, 0, all_ranks_, &all[2 * p + 1]);
  }
  MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
  return in;
}

template <class T>
void mpi_gpu_box::make_rooms(lane<T>& l, const counts& out, const counts& in) {
  imbrex::device& d = stream_->on();
  make_room(l.out, d, sum(out), retired_);
  make_room(l.in, d, sum(in), retired_);
  if (path_ == apps::halo_path::device) return;
  make_room(l.out_on_host, d, sum(out), retired_, imbrex::memory_kind::pinned);
  make_room(l.in_on_host, d, sum(in), retired_, imbrex::memory_kind::pinned);
}

template <class T>
gpu_messages<T> mpi_gpu_box::exchange(lane<T>& l, const counts& out, const counts& in) {
  const bool staged = path_ == apps::halo_path::host;
  if (staged) stream_->transfer(l.out_on_host.data(), l.out.data(), sum(out) * sizeof(T));
  apps::synchronize(*stream_);
  const T* from = staged ? l.out_on_host.data() : l.out.data();
  T* to = staged ? l.in_on_host.data() : l.in.data();
  gpu_messages<T> m;
  const T* arrived = l.in.data();
  std::vector<MPI_Request> all;
  for (std::size_t p = 0; p < out.size(); ++p) {
    const int there = rank_of(all_.around().boxes[p]);
    if (in[p] > 0) {
      MPI_Irecv(to, static_cast<int>(in[p] * sizeof(T)), MPI_BYTE, there, 1, all_ranks_, &all.emplace_back());
      m.add(arrived, in[p]);
    }
    if (out[p] > 0)
      MPI_Isend(from, static_cast<int>(out[p] * sizeof(T)), MPI_BYTE, there, 1, all_ranks_, &all.emplace_back());
    from += out[p];
    to += in[p];
    arrived += in[p];
  }
  MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
  if (staged) stream_->transfer(l.in.data(), l.in_on_host.data(), sum(in) * sizeof(T));
  return m;
}

void mpi_gpu_box::exchange_movers() {
  all_.find_leavers();
  apps::synchronize(*stream_);
  all_.leavers_found(step_);
  counts out(all_.around().boxes.size());
  for (std::size_t p = 0; p < out.size(); ++p) out[p] = all_.num_leavers(static_cast<int>(p));
  const counts in = exchange_counts(out);
  make_rooms(movers_, out, in);
  all_.pack_leavers(movers_.out.data());
  all_.sort(exchange(movers_, out, in));
}

void mpi_gpu_box::exchange_ghosts() {
  all_.find_ghosts();
  apps::synchronize(*stream_);
  retired_.release();
  sent_.resize(all_.around().boxes.size());
  for (std::size_t p = 0; p < sent_.size(); ++p) sent_[p] = all_.num_sent(static_cast<int>(p));
  ghosts_ = exchange_counts(sent_);
  all_.choose_ghosts(static_cast<std::uint32_t>(sum(ghosts_)));
  exchange_positions();
}

void mpi_gpu_box::reneighbour() {
  if (all_.around().boxes.empty()) {
    all_.sort({});
  } else {
    exchange_movers();
    exchange_ghosts();
  }
  do {
    all_.build_lists();
    apps::synchronize(*stream_);
  } while (!all_.lists_are_whole(step_));
}

void mpi_gpu_box::exchange_positions() {
  if (sent_.empty()) return;
  make_rooms(positions_, sent_, ghosts_);
  all_.pack_positions(positions_.out.data(), *stream_);
  gpu_unpack(*stream_, exchange(positions_, sent_, ghosts_), all_.ghosts());
}

void mpi_gpu_box::exchange_slopes() {
  if (sent_.empty()) return;
  make_rooms(slopes_, sent_, ghosts_);
  all_.pack_slopes(slopes_.out.data(), *stream_);
  gpu_unpack(*stream_, exchange(slopes_, sent_, ghosts_), all_.ghost_slopes());
}

}  // namespace md
