#include "imbrex/runtime/runtime.h"

#include "imbrex/checkpoint/live/point_messages.h"

namespace imbrex {

task<std::string> runtime::checkpoint(std::string folder) const {
  scheduler& pe = scheduler::of_caller();
  if (pe.id() != 0 || pe.acting() != nullptr)
    throw usage_error("a checkpoint is made by the main chare, or by elements in checkpoint_point");
  if (options_.virtual_time.is_wanted()) {
    throw usage_error(fmt::format(
        "a checkpoint was asked for on the simulated machine {}: they are files, which it does not write: leave it "
        "out there",
        options_.virtual_time.machine));
  }
  if (folder.empty()) folder = options_.checkpoint.folder;
  if (folder.empty())
    throw usage_error("a checkpoint needs a folder: name it to checkpoint(), or start with --imbrex-checkpoint=FOLDER");
  auto made = checkpointer::of(pe).leader().make(std::move(folder));
  co_return co_await made;
}

void runtime::resize(int pes_per_rank) const {
  scheduler& pe = scheduler::of_caller();
  constexpr int most = 4096;
  if (pes_per_rank < 1 || pes_per_rank > most) {
    throw usage_error(
        fmt::format("a job is to go on with {} PEs of each rank: give a number from 1 to {}", pes_per_rank, most));
  }
  if (options_.virtual_time.is_wanted()) {
    throw usage_error(fmt::format("the number of PEs does not change on the simulated machine {}: leave out resize",
                                  options_.virtual_time.machine));
  }
  if (!checkpointer::of(pe).has_points()) {
    throw usage_error(
        "the number of PEs changes at checkpoint points, and this job has none: start it with "
        "--imbrex-checkpoint-memory=EVERY or --imbrex-checkpoint=FOLDER");
  }
  if (transport_name() == "ucx")
    throw usage_error("the number of PEs cannot change over ucx: use --imbrex-transport=mpi");
  pe.send(0, resize_call{pes_per_rank}, priorities::communication);
}

}  // namespace imbrex
