#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "chares/gpu_strategy.h"
#include "decomposition.h"
#include "kernels/gpu_tiles.h"
#include "options.h"

namespace jacobi {

/// The blocks of one GPU as one kernel sees them.
struct gpu_share {
  int gpu = 0;
  imbrex::device* device = nullptr;
  std::unique_ptr<imbrex::stream> stream;
  imbrex::buffer<gpu_block_entry> table;
  imbrex::buffer<gpu_face_tile> faces;
  gpu_work_list work;
  std::vector<int> neighbours;       ///< GPUs that hold blocks next to those of this one, this one left out
  std::vector<std::int64_t> blocks;  ///< by number

  /// Enqueues one iteration of all blocks.
  void step(stencil formula, double outside, int parity);
  /// Enqueues what fills the ghosts of the current fields of all blocks from the blocks next to them.
  void fetch_ghosts(const decomposition& cut, bool periodic, int parity);
};

/// Fusion D: one kernel for each GPU and iteration, which stores the halos into the neighbours' memory. One element on
/// every PE; the first PE of each GPU enqueues its kernels and waits, on the GPU, for the neighbours' kernels of the
/// iteration before. With graphs PE 0 starts whole runs of iterations on all GPUs at once.
///
/// Why that order is enough: the kernel of iteration i writes the neighbours' ghosts of the field that iteration i + 1
/// reads. They were last read by the neighbours' iteration i - 1, which has finished.
class gpu_team : public imbrex::chare<gpu_team, imbrex::index1d> {
 public:
  gpu_team();

  /// Once all blocks have their initial state: gathers them, when called first, and fills their ghosts. With graphs,
  /// makes those for runs of so many iterations. Contributes.
  imbrex::task<> build(std::vector<std::int64_t> lengths);
  /// Does so many iterations from the given parity and contributes.
  imbrex::task<> iterate(std::int64_t iterations, int parity);

 private:
  gpu_share make_share(int gpu) const;
  void make_graphs(const std::vector<std::int64_t>& lengths);
  imbrex::task<> gather(gpu_share& share);
  imbrex::task<> upload(gpu_share& share, std::vector<gpu_block_entry> blocks);
  imbrex::task<> iterate_by_events(std::int64_t iterations, int parity);
  imbrex::task<> iterate_by_graphs(std::int64_t iterations, int parity);
  imbrex::graph& graph_of(std::int64_t iterations, int parity);
  void enqueue_all(std::int64_t iterations, int parity);
  void connect();

  static constexpr std::int64_t most_in_a_graph = 100;

  const options& options_;
  const gpu_strategy strategy_;
  const decomposition cut_;
  std::vector<gpu_share> shares_;                  ///< of this PE: its GPU's, or with graphs on PE 0 all
  std::vector<imbrex::channel<double>> channels_;  ///< to `shares_[0].neighbours`: they carry events only
  std::map<std::pair<std::int64_t, int>, std::unique_ptr<imbrex::graph>> graphs_;
  imbrex::run_ahead ahead_{2};
};

}  // namespace jacobi
