#include "mpi/mpi_box.h"

#include <algorithm>

#include "imbrex/base/clock.h"
#include "run_output.h"

namespace md {
namespace {

constexpr int tag_of_migrants = 1 << 14;  // tags of links are below

template <class T>
MPI_Request send_begun(const std::vector<T>& values, int to, int tag, MPI_Comm all) {
  MPI_Request request;
  MPI_Isend(values.data(), static_cast<int>(values.size() * sizeof(T)), MPI_BYTE, to, tag, all, &request);
  return request;
}

}  // namespace

mpi_box::mpi_box(const run_setup& s, const model& m, MPI_Comm all)
    : setup_(s), model_(m), all_ranks_(all), all_(m, m.boxes.box_at(rank_in(all))) {
  out_.resize(static_cast<std::size_t>(all_.num_links()));
  in_.resize(out_.size());
}

void mpi_box::make() { make_initial_atoms(all_, model_, setup_.initial(), all_ranks_); }

void mpi_box::start() {
  reneighbour();
  compute_forces(true);
  facts_ = {};
}

void mpi_box::step(std::int64_t number) {
  const problem& p = model_.what;
  step_ = number;
  const std::int64_t began = imbrex::now_ns();
  all_.first_half_step();
  facts_.other_ns += imbrex::now_ns() - began;
  if (p.reneighbour_every != 0 && step_ % p.reneighbour_every == 0) {
    reneighbour();
  } else {
    for (int r = 0; r < all_.num_rounds(); ++r) exchange(r, &domain::pack_positions, &domain::unpack_positions);
  }
  compute_forces(is_thermo_step(p, step_));
  const std::int64_t rest = imbrex::now_ns();
  all_.second_half_step();
  facts_.other_ns += imbrex::now_ns() - rest;
}

void mpi_box::compute_forces(bool wants_energy) {
  std::int64_t began = imbrex::now_ns();
  all_.begin_forces(wants_energy);
  facts_.force_ns += imbrex::now_ns() - began;
  if (model_.embedded) {
    for (int r = 0; r < all_.num_rounds(); ++r) exchange(r, &domain::pack_slopes, &domain::unpack_slopes);
    began = imbrex::now_ns();
    all_.end_forces();
    facts_.force_ns += imbrex::now_ns() - began;
  }
  if (!model_.sends_forces_back()) return;
  for (int r = all_.num_rounds() - 1; r >= 0; --r) exchange(r, &domain::pack_forces, &domain::add_forces, false);
}

void mpi_box::exchange(int r, pack_function pack, unpack_function unpack, bool to_ghosts) {
  const auto goes_out = [&](int k) { return to_ghosts ? all_.has_ghosts_there(k) : all_.has_ghosts_here(k); };
  const auto comes = [&](int k) { return goes_out(all_.opposite(k)); };
  const int first = all_.first_link(r), end = all_.first_link(r + 1);
  std::vector<MPI_Request> sent;
  for (int k = first; k < end; ++k) {
    if (!goes_out(k)) continue;
    std::vector<double>& values = out_[static_cast<std::size_t>(k)];
    (all_.*pack)(k, values);
    if (!all_.is_own(k)) sent.push_back(send_begun(values, rank_of(all_.box_of(k)), all_.opposite(k), all_ranks_));
  }
  for (int k = first; k < end; ++k) {
    if (!comes(k)) continue;
    std::vector<double>& values = in_[static_cast<std::size_t>(k)];
    if (all_.is_own(k)) {
      std::swap(values, out_[static_cast<std::size_t>(all_.opposite(k))]);
    } else {
      values = receive_any_number<double>(rank_of(all_.box_of(k)), k, all_ranks_);
    }
  }
  for (int k = first; k < end; ++k)
    if (comes(k)) (all_.*unpack)(k, in_[static_cast<std::size_t>(k)]);
  MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE);
}

void mpi_box::reneighbour() {
  exchange_migrants();
  std::int64_t began = imbrex::now_ns();
  const std::int64_t every = setup_.given().sort_every.value_or(1);
  if (every != 0 && step_ >= next_sort_) {
    next_sort_ = step_ + every;
    all_.sort();
  }
  all_.forget_ghosts();
  facts_.neighbour_ns += imbrex::now_ns() - began;
  for (int r = 0; r < all_.num_rounds(); ++r) {
    all_.choose_ghosts(r);
    exchange(r, &domain::pack_ghosts, &domain::add_ghosts);
  }
  began = imbrex::now_ns();
  all_.build_lists();
  facts_.neighbour_ns += imbrex::now_ns() - began;
}

void mpi_box::exchange_migrants() {
  const auto leavers = all_.take_leavers();
  const auto& around = all_.neighbour_boxes();
  std::vector<MPI_Request> sent;
  sent.reserve(around.size());
  for (std::size_t n = 0; n < around.size(); ++n)
    sent.push_back(send_begun(leavers[n], rank_of(around[n]), tag_of_migrants, all_ranks_));
  for (const box_index& b : around)
    for (const atom_record& a : receive_any_number<atom_record>(rank_of(b), tag_of_migrants, all_ranks_)) all_.add(a);
  MPI_Waitall(static_cast<int>(sent.size()), sent.data(), MPI_STATUSES_IGNORE);
}

thermo_sums mpi_box::sum_thermo() const {
  thermo_sums mine;
  all_.sum_thermo(mine);
  return thermo_from(added(limbs(mine), all_ranks_));
}

block_facts mpi_box::facts() const {
  block_facts mine = facts_;
  mine.atoms = all_.num_atoms();
  mine.bytes = static_cast<std::int64_t>(all_.bytes());
  return added(mine, all_ranks_);
}

std::vector<dump_atom> mpi_box::gather_atoms() const { return gathered(dump_atoms(all_), all_ranks_); }

}  // namespace md
