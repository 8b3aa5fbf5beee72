#include "mpi/mpi_gather.h"

#include "system/initial_state.h"
#include "system/thermodynamics.h"

namespace md {
namespace {

constexpr int tag_of_atoms = 1 << 13;  // those of links are below

}  // namespace

int rank_in(MPI_Comm all) {
  int rank = 0;
  MPI_Comm_rank(all, &rank);
  return rank;
}

block_facts added(const block_facts& mine, MPI_Comm all) {
  const auto sum =
      added(std::array<std::int64_t, 5>{mine.atoms, mine.bytes, mine.force_ns, mine.neighbour_ns, mine.other_ns}, all);
  return {.atoms = sum[0], .bytes = sum[1], .force_ns = sum[2], .neighbour_ns = sum[3], .other_ns = sum[4]};
}

void make_initial_atoms(domain& box, const model& m, const initial_atoms* initial, MPI_Comm all) {
  add_initial_atoms(box, m, initial);
  if (!needs_velocities(initial)) return;
  apps::exact_sum sums[3], mvv;
  box.sum_velocities(sums);
  const auto total = added(limbs<3>({&sums[0], &sums[1], &sums[2]}), all);
  const apps::exact_sum each[3] = {sum_from(total, 0), sum_from(total, 1), sum_from(total, 2)};
  box.shift_velocities(mean_velocity(m.scale, each));
  box.sum_kinetic(mvv);
  const auto all_mvv = added(limbs<1>({&mvv}), all);
  box.scale_velocities(velocity_factor(m.scale, m.what.temperature, sum_from(all_mvv, 0).to_double()));
}

std::vector<dump_atom> gathered(const std::vector<dump_atom>& mine, MPI_Comm all) {
  int size = 0;
  MPI_Comm_size(all, &size);
  if (rank_in(all) != 0) {
    MPI_Send(mine.data(), static_cast<int>(mine.size() * sizeof(dump_atom)), MPI_BYTE, 0, tag_of_atoms, all);
    return {};
  }
  std::vector<dump_atom> them = mine;
  for (int r = 1; r < size; ++r) {
    const auto theirs = receive_any_number<dump_atom>(r, tag_of_atoms, all);
    them.insert(them.end(), theirs.begin(), theirs.end());
  }
  return them;
}

}  // namespace md
