#include "mpi/mpi_gpu_solver.h"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "chares/gpu_strategy.h"
#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"
#include "imbrex/device/cuda/cuda_devices.h"
#include "mpi/mpi_agreement.h"
#include "mpi/mpi_gpu_block.h"
#include "mpi/mpi_phases.h"
#include "support/mpi_halo_path.h"

namespace jacobi {
namespace {

/// Bytes of this rank's GPU that the ranks which share it need.
std::uint64_t needed_on_gpu(const apps::mpi_session& mpi, const imbrex::cuda_gpu& gpu, std::uint64_t of_block) {
  using need = std::array<std::uint64_t, 2>;  // which GPU, bytes
  const need mine{imbrex::hash_bytes(gpu.bus_id()), of_block};
  std::vector<need> all(static_cast<std::size_t>(mpi.num_local_ranks()));
  MPI_Allgather(mine.data(), 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, mpi.node());
  std::uint64_t sum = 0;
  for (const auto& [where, bytes] : all) sum += where == mine[0] ? bytes : 0;
  return sum;
}

void check_gpu_memory(const apps::mpi_session& mpi, const imbrex::cuda_gpu& gpu, std::uint64_t of_block) {
  const std::uint64_t needed = needed_on_gpu(mpi, gpu, of_block);
  agree(mpi.comm(), [&] {
    const std::uint64_t free = gpu.memory().free;
    if (needed <= free) return;
    constexpr double gb = 1e9;
    throw imbrex::out_of_memory(fmt::format(
        "not enough memory on GPU {} ({}): the run needs {:.1f} GB there and {:.1f} GB are free: use a smaller grid "
        "(-x -y -z) or more GPUs",
        gpu.number(), gpu.name(), static_cast<double>(needed) / gb, static_cast<double>(free) / gb));
  });
}

result facts_on_gpus(const apps::mpi_session& mpi, const options& o, const decomposition& blocks, halo_path path) {
  result r = facts_of(mpi, o, blocks);
  r.device = "cuda";
  r.gpus = 1;
  r.gpu_strategy = fmt::format("fusion {}, comm {}", name(fusion_strategy::b), name(path));
  return r;
}

}  // namespace

std::string why_no_gpu(const apps::mpi_session& mpi) {
  try {
    agree(mpi.comm(), [] {
      std::string why;
      if (imbrex::cuda_machine::count(&why) == 0) throw imbrex::config_error(why);
    });
  } catch (const imbrex::config_error& e) {
    return e.what();
  }
  return {};
}

int solve_on_gpus(const apps::mpi_session& mpi, const options& o) {
  const halo_path path = apps::mpi_halo_path(mpi.comm(), o.gpu.halos);
  const decomposition blocks = decompose(o, mpi.num_ranks(), gpu_x_face_weight);
  std::optional<apps::mpi_gpu> gpu;
  agree(mpi.comm(),
        [&] { gpu.emplace(imbrex::cuda_devices::choose(1, mpi.local_rank(), mpi.num_local_ranks()).front()); });
  const extents largest = blocks.cells({0, 0, 0}).size;
  check_gpu_memory(mpi, gpu->gpu(), mpi_gpu_block::gpu_bytes_needed(largest, path));
  check_node_memory(mpi, o, blocks, mpi_gpu_block::host_bytes_needed(largest, path, o));
  return run_phases(mpi, o, blocks, facts_on_gpus(mpi, o, blocks, path),
                    [&] { return std::make_unique<mpi_gpu_block>(mpi, *gpu, o, blocks, path); });
}

}  // namespace jacobi
