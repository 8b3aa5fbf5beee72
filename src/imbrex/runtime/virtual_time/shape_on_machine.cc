#include "imbrex/runtime/virtual_time/shape_on_machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"

namespace imbrex::detail {

namespace {

/// What simulating takes of this machine, as measured with 3,072 to 24,576 PEs.
void warn_of_memory(std::int64_t num_ranks, std::int64_t pes) {
  constexpr double of_pe = 2e5, of_two_ranks = 16;
  const auto ranks = static_cast<double>(num_ranks);
  const double wanted = of_pe * ranks * static_cast<double>(pes) + of_two_ranks * ranks * ranks;
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (wanted < there / 2) return;
  log_warning(
      fmt::format("{} PEs in {} ranks take some {:.1f} GB of memory here, where there are {:.1f}: use fewer nodes "
                  "(--imbrex-nodes) or PEs (--imbrex-pes)",
                  num_ranks * pes, num_ranks, wanted * 1e-9, there * 1e-9));
}

}  // namespace

job_shape shape_on_machine(const machine& m, runtime_options& o) {
  virtual_time_options& v = o.virtual_time;
  if (o.device == "auto") o.device = m.node.gpus > 0 ? "cuda" : "host";
  if (o.device == "opencl")
    throw config_error(
        fmt::format("--imbrex-device=opencl: simulated GPUs are programmed as those of CUDA: use cuda on {}", m.name));
  const bool on_gpus = o.device == "cuda";
  if (on_gpus && m.node.gpus == 0)
    throw config_error(fmt::format("--imbrex-device=cuda: {} has no GPUs: use --imbrex-device=host", m.name));
  job_shape s;
  s.gpus_per_rank = on_gpus ? std::max(o.gpus, 1) : 0;
  s.ranks_per_node = v.ranks_per_node > 0 ? v.ranks_per_node : on_gpus ? std::max(m.node.gpus / s.gpus_per_rank, 1) : 1;
  if (on_gpus && s.gpus_per_rank > m.node.gpus)
    throw config_error(fmt::format("--imbrex-gpus={}: a node of {} has {}", o.gpus, m.name, m.node.gpus));
  if (on_gpus && s.ranks_per_node * s.gpus_per_rank > m.node.gpus) {
    throw config_error(
        fmt::format("--imbrex-ranks-per-node={}: with {} each they want {} GPUs, and a node of {} has {}: "
                    "use at most {} ranks a node",
                    s.ranks_per_node, s.gpus_per_rank, s.ranks_per_node * s.gpus_per_rank, m.name, m.node.gpus,
                    m.node.gpus / s.gpus_per_rank));
  }
  const std::int64_t room = std::int64_t{v.nodes} * s.ranks_per_node;
  if (v.ranks > room) {
    throw config_error(
        fmt::format("--imbrex-ranks={}: {} node{} of {} with {} ranks each have room for {}: use --imbrex-nodes={}",
                    v.ranks, v.nodes, v.nodes == 1 ? "" : "s", m.name, s.ranks_per_node, room,
                    (v.ranks + s.ranks_per_node - 1) / s.ranks_per_node));
  }
  constexpr std::int64_t most = 1'000'000;
  if (room > most) throw config_error(fmt::format("--imbrex-nodes={}: that makes more than {} ranks", v.nodes, most));
  s.num_ranks = v.ranks > 0 ? v.ranks : static_cast<int>(room);
  if (const bool makes = !o.checkpoint.folder.empty(); makes || !o.checkpoint.restart.empty()) {
    throw config_error(
        fmt::format("checkpoints are files, which no simulated machine writes or reads: leave out --imbrex-{}",
                    makes ? "checkpoint" : "restart"));
  }
  if (v.cpu == simulated_cpu::automatic) v.cpu = on_gpus ? simulated_cpu::declared : simulated_cpu::measured;
  constexpr int few = 8;
  if (v.data == simulated_data::automatic) v.data = s.num_ranks <= few ? simulated_data::on : simulated_data::off;
  if (o.pes == 0) o.pes = on_gpus ? s.gpus_per_rank : std::max(m.node.cores / s.ranks_per_node, 1);
  if (const std::int64_t pes = std::int64_t{o.pes} * s.ranks_per_node; m.node.cores > 1 && pes > m.node.cores) {
    log_warning(
        fmt::format("{} PEs on each node of {}, which has {} cores: each is simulated as if it had a core of its "
                    "own; use --imbrex-pes={}",
                    pes, m.name, m.node.cores, std::max(m.node.cores / s.ranks_per_node, 1)));
  }
  warn_of_memory(s.num_ranks, o.pes);
  if (o.balance.rates == "measured") o.balance.rates = "equal";  // what is measured is this machine's
  o.gpus = s.gpus_per_rank;
  o.ranks = s.num_ranks;
  o.pin = false;
  o.spin_us = 20;
  o.single_thread = false;
  return s;
}

}  // namespace imbrex::detail
