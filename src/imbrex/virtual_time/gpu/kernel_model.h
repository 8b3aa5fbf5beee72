#pragma once

#include <cstdint>

#include "imbrex/device/kernel/launch_shape.h"
#include "imbrex/device/stream.h"
#include "imbrex/virtual_time/core/simulation.h"
#include "imbrex/virtual_time/machine/machine.h"

namespace imbrex {

/// What a kernel takes of a GPU.
struct kernel_demand {
  std::int64_t least_ns = 0;  ///< it takes so long whatever it does
  double work_ns = 0;         ///< ... and then so long if it has the whole GPU
  double share = 1;           ///< of the GPU that it can use, as its threads are few
  double round_ns = 0;        ///< each of its blocks keeps its place so long; 0: they are many and short
};

/// From what the program has said of it (`stream::expect`), else what the machine's description says of its name, else
/// by its threads: 24 bytes for each.
kernel_demand demand_of(const machine& m, simulation& all, const char* name, const launch_shape& shape,
                        const kernel_cost& said);

/// Of a pass over so many bytes of a GPU's memory, by a kernel of the driver's.
kernel_demand demand_of_pass(const machine& m, std::uint64_t bytes);

}  // namespace imbrex
