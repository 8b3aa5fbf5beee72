#pragma once

#include <optional>

#include "imbrex/runtime/options/options.h"
#include "imbrex/runtime/rank/rank_start.h"
#include "imbrex/virtual_time/core/fiber.h"
#include "imbrex/virtual_time/core/simulation.h"
#include "imbrex/virtual_time/core/virtual_pe.h"
#include "imbrex/virtual_time/gpu/ghost_memory.h"
#include "imbrex/virtual_time/gpu/simulated_cluster.h"
#include "imbrex/virtual_time/machine/machine.h"
#include "imbrex/virtual_time/machine/network_model.h"
#include "imbrex/virtual_time/network/simulated_transport.h"

namespace imbrex::detail {

/// All that the ranks of a job in virtual time share.
struct virtual_job {
  virtual_job(const machine& description, const job_shape& its_shape, const runtime_options& o)
      : m(description),
        shape(its_shape),
        options(o),
        time(o.virtual_time.seed),
        lines(m, shape, time),
        memory(o.virtual_time.data == simulated_data::on),
        gpus(m, time, lines, memory, o.completion),
        network(time, lines, ranks, memory) {}

  cpu_costs costs() const {
    return {ns_of_us(m.cpu.dispatch_us), ns_of_us(m.cpu.dispatch_us),
            options.virtual_time.cpu == simulated_cpu::measured, m.cpu.slowdown};
  }

  const machine& m;
  const job_shape shape;
  const runtime_options& options;
  simulation time;
  network_model lines;
  ghost_memory memory;
  simulated_cluster gpus;
  fibers ranks;
  simulated_network network;
  std::optional<agreement_of_all> agreement;
  int num_ready = 0;  // ranks whose PEs can run
  bool has_run = false;
};

}  // namespace imbrex::detail
