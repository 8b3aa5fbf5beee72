#include "support/mpi_gpu.h"

#include "imbrex/device/cuda/cuda_stream.h"

namespace apps {

mpi_gpu::mpi_gpu(int number)
    : machine_({number}),
      completion_(queue_, imbrex::completion_mode::sync, machine_.pinned()),
      device_(machine_, machine_.gpu(0), queue_, completion_) {
  queue_.constructing_type = "the rank's block";  // whom reports about memory name
}

void synchronize(imbrex::stream& s) {
  auto& of_gpu = static_cast<imbrex::cuda_stream&>(s);
  of_gpu.check(cudaStreamSynchronize(of_gpu.native()), "waiting for a stream");
  // What fails later is none of these operations.
  of_gpu.progress.marked = of_gpu.progress.completed = of_gpu.progress.enqueued;
}

}  // namespace apps
