#include "output/screen.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace md {
namespace {

std::string run_text(const run_facts& f) {
  std::string text = fmt::format("# imbrex miniMD, {}\n# Run Settings:\n", f.implementation);
  text += fmt::format("#   Ranks: {}\n#   PEs of a rank: {}\n", f.num_ranks, f.pes_per_rank);
  if (f.num_gpus > 0)
    text += fmt::format("#   GPUs: {}, comm {}{}\n", f.num_gpus, f.gpu_halos,
                        f.gpu_streams.empty() ? "" : ", streams " + f.gpu_streams);
  text += fmt::format("#   Chares: {} ({}), ODF {:g}\n", f.num_chares, fmt::join(f.decomposition, " x "), odf(f));
  text += fmt::format("#   Device: {}\n", f.device);
  text += fmt::format("#   Exchange: {}\n", f.exchange);
  text += fmt::format("#   Instruction set: {}\n", f.instruction_set);
  text += fmt::format("#   Datafile: {}\n", f.what.data_file.empty() ? "None" : f.what.data_file);
  return text + fmt::format("#   Command: {}\n", f.command);
}

std::string force_text(const problem& p) {
  if (p.force == force_style::eam) return fmt::format("#   Force file: {}\n", p.eam_file);
  return fmt::format("#   Force Parameters: {:.2f} {:.2f}\n", p.epsilon, p.sigma);
}

std::string cells_text(const problem& p) {
  return p.data_file.empty() ? fmt::format(" (unit cells: {})", fmt::join(p.cells, " ")) : "";
}

std::string physics_text(const run_facts& f) {
  const problem& p = f.what;
  std::string text = fmt::format("# Physics Settings:\n#   ForceStyle: {}\n", reference_name(p.force));
  text += force_text(p);
  text += fmt::format("#   Units: {}\n", reference_name(p.units));
  text += fmt::format("#   Atoms: {}\n", f.num_atoms);
  text += fmt::format("#   System size: {:.2f} {:.2f} {:.2f}{}\n", f.box[0], f.box[1], f.box[2], cells_text(p));
  text += fmt::format("#   Density: {:.6f}\n", density(f));
  text += fmt::format("#   Force cutoff: {:.6f}\n", p.cutoff);
  return text + fmt::format("#   Timestep size: {:.6f}\n", p.dt);
}

std::string technical_text(const run_facts& f) {
  const problem& p = f.what;
  std::string text = fmt::format("# Technical Settings:\n#   Neigh cutoff: {:.6f}\n", p.neighbour_cutoff());
  text += fmt::format("#   Half neighborlists: {:d}\n", f.lists == list_style::half);
  text += fmt::format("#   Neighbor frequency: {}\n", p.reneighbour_every);
  text += fmt::format("#   Thermo frequency: {}\n", p.thermo_every);
  text += fmt::format("#   Ghost Newton: {:d}\n", f.ghost_newton);
  text += fmt::format("#   Deterministic: {:d}\n", f.deterministic);
  return text + fmt::format("#   Size of float: {}\n", sizeof(double));
}

}  // namespace

std::string header_text(const run_facts& f) { return run_text(f) + physics_text(f) + technical_text(f); }

std::string columns_text() { return "# Timestep T U P Time\n"; }

std::string row_text(const thermo_row& row) {
  return fmt::format("{} {:.17g} {:.17g} {:.17g} {:.3f}\n", row.step, row.temperature, row.energy, row.pressure,
                     row.seconds);
}

std::string summary_text(const run_facts& f) {
  const phase_times& t = f.seconds;
  std::string text =
      "# Performance Summary:\n# ranks PEs nsteps natoms t_total t_force t_neigh t_comm t_other performance "
      "perf/thread grep_string t_extra\n";
  text += fmt::format("{} {} {} {} ", f.num_ranks, f.pes_per_rank, f.what.steps, f.num_atoms);
  text += fmt::format("{:.6f} {:.6f} {:.6f} {:.6f} {:.6f} ", t.total, t.force, t.neighbour, t.communication, t.other);
  return text +
         fmt::format("{:.6f} {:.6f} PERF_SUMMARY {:.6f}\n", atom_steps_per_second(f), atom_steps_per_pe_second(f), 0.0);
}

}  // namespace md
