#include "output/run_facts.h"

namespace md {

double odf(const run_facts& f) {
  return static_cast<double>(f.num_chares) / (double{1} * f.num_ranks * f.pes_per_rank);
}

double density(const run_facts& f) {
  const double volume = f.box[0] * f.box[1] * f.box[2];
  const bool given = f.what.data_file.empty() && f.what.lattice_constant == 0;
  return given || volume == 0 ? f.what.density : static_cast<double>(f.num_atoms) / volume;
}

double atom_steps_per_second(const run_facts& f) {
  if (f.seconds.total <= 0) return 0;
  return static_cast<double>(f.num_atoms) * static_cast<double>(f.what.steps) / f.seconds.total;
}

double atom_steps_per_pe_second(const run_facts& f) {
  return atom_steps_per_second(f) / (double{1} * f.num_ranks * f.pes_per_rank);
}

double total_energy(const run_facts& f, const thermo_row& row) {
  if (f.num_atoms == 0) return row.energy;
  const double moving = 1 - 1 / static_cast<double>(f.num_atoms);
  return row.energy + 1.5 * boltzmann(f.what.units) * row.temperature * moving;
}

std::string reference_name(unit_system units) { return units == unit_system::lj ? "LJ" : "METAL"; }

std::string reference_name(force_style force) { return force == force_style::lj ? "LJ" : "EAM"; }

}  // namespace md
