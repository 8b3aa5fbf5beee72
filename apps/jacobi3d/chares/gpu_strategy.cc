#include "chares/gpu_strategy.h"

#include <fmt/format.h>

namespace jacobi {

namespace {

gpu_strategy with_several_steps(gpu_strategy s, const options& o) {
  const auto refuse = [&](const char* what) {
    throw imbrex::usage_error(
        fmt::format("{} is for single steps, and --steps {} for several: give one", what, steps_text(o)));
  };
  if (o.gpu.fusion) refuse("--fusion");
  if (o.gpu.graph.value_or(false)) refuse("--graph");
  if (o.steps > gpu_layout::most_depth) {
    throw imbrex::usage_error(
        fmt::format("--steps {} is too large for GPUs: use at most {}; 4 is best", o.steps, gpu_layout::most_depth));
  }
  s.fusion = fusion_strategy::none;
  s.graph = false;
  return s;
}

gpu_strategy resident(gpu_strategy s, const options& o, const imbrex::runtime& rt, bool checkpoints, bool uneven) {
  const auto refuse = [](const std::string& what) {
    throw imbrex::usage_error("--steps resident is one kernel on each GPU of one process: " + what);
  };
  if (o.gpu.fusion || o.gpu.graph || o.gpu.halos || o.gpu.streams)
    refuse("leave out --fusion, --graph, --no-graph, --comm and --streams");
  if (rt.num_ranks() > 1) refuse(fmt::format("there are {} processes", rt.num_ranks()));
  if (checkpoints) refuse("it makes no checkpoints");
  if (uneven) refuse("leave out --balance");
  if (rt.num_gpus() != rt.num_pes())
    refuse(fmt::format("{} PEs have {} GPUs: use --pes {}", rt.num_pes(), rt.num_gpus(), rt.num_gpus()));
  if (o.num_chares.value_or(rt.num_pes()) != rt.num_pes()) refuse(fmt::format("leave out -c {}", *o.num_chares));
  s.fusion = fusion_strategy::none;
  s.graph = false;
  s.steps = 1;  // no ghosts are needed
  s.resident = true;
  return s;
}

}  // namespace

gpu_strategy gpu_strategy::of(const options& o, const imbrex::runtime& rt) {
  const int num_ranks = rt.num_ranks();
  const imbrex::checkpoint_options& checkpoint = rt.options().checkpoint;
  const bool checkpoints = checkpoint.at_points() || !checkpoint.restart.empty();
  const bool uneven = o.imbalance != 1 || !o.balance.empty();
  const gpu_options& g = o.gpu;
  gpu_strategy s;
  s.streams = g.streams.value_or(stream_design::chare);
  s.halos = g.halos.value_or(halo_path::device);
  s.steps = o.steps;
  if (s.steps == resident_steps) return jacobi::resident(s, o, rt, checkpoints, uneven);
  if (s.steps > 1) return with_several_steps(s, o);
  const bool can_store = num_ranks == 1 && !checkpoints && !uneven && s.halos == halo_path::device && !g.streams;
  s.fusion = g.fusion.value_or(can_store ? fusion_strategy::d : fusion_strategy::c);
  s.graph = g.graph.value_or(s.fusion == fusion_strategy::d);
  if ((s.fusion == fusion_strategy::d || s.graph) && uneven)
    throw imbrex::usage_error(
        "--imbalance and --balance are for blocks that compute for themselves: leave out --graph and --fusion D");
  if (s.graph && s.fusion != fusion_strategy::d && num_ranks > 1)
    throw imbrex::usage_error(
        fmt::format("--graph needs all chares in one process, but there are {}: leave it out", num_ranks));
  return s;
}

std::string gpu_strategy::text() const {
  if (resident) return "resident, one kernel on each";
  std::string t = steps > 1 ? fmt::format("{} steps a pass", steps) : fmt::format("fusion {}", name(fusion));
  if (graph) t += ", graph";
  t += fmt::format(", streams {}", name(streams));
  return t + (fusion == fusion_strategy::d ? ", comm store" : fmt::format(", comm {}", name(halos)));
}

}  // namespace jacobi
