#include "problem_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "input/input_file.h"
#include "input/lattice_size.h"
#include "option_values.h"

namespace md {
namespace {

/// The reference's EAM problem: copper at the density of its input.
problem built_in(force_style force) {
  problem p;
  if (force == force_style::lj) return p;
  p.units = unit_system::metal;
  p.force = force_style::eam;
  p.density = 0.07041125;
  p.dt = 0.001;
  p.temperature = 600;
  p.cutoff = 4.95;
  p.skin = 1.0;
  return p;
}

std::optional<force_style> read_force(const raw_options& raw) {
  if (raw.force.empty()) return std::nullopt;
  return read_word<force_style>("--force", raw.force, {"lj", force_style::lj}, {"eam", force_style::eam});
}

void start_from_file(options& o, const raw_options& raw) {
  const input_job job = read_input_file(o.input_file, {raw.data, raw.eam});
  const bool was_eam = job.what.force == force_style::eam;
  o.what = job.what;
  o.ghost_newton = job.newton.value_or(o.ghost_newton);
  o.what.force = read_force(raw).value_or(o.what.force);
  if (!was_eam && o.what.force == force_style::eam && raw.eam.empty())
    o.what.eam_file = find_eam_file(o.what, o.input_file);
}

/// As in the reference -nx alone, without -s, is for all three.
void take_sizes(problem& p, const raw_options& raw) {
  if (raw.size) {
    take_at_least("--size", raw.size, 1, p.cells[0]);
    p.cells.fill(p.cells[0]);
  }
  take_at_least("-nx", raw.nx, 1, p.cells[0]);
  if (raw.nx && !raw.size) p.cells.fill(p.cells[0]);
  take_at_least("-ny", raw.ny, 1, p.cells[1]);
  take_at_least("-nz", raw.nz, 1, p.cells[2]);
  if (!countable(p.cells))
    refuse_option(fmt::format("{} unit cells are too many: use at most 2^58 in all", fmt::join(p.cells, " x ")));
}

void check_data_file(const problem& p, const raw_options& raw) {
  if (p.data_file.empty()) return;
  if (raw.imbalance)
    refuse_option(fmt::format("--imbalance is of the lattice, and atoms come from {}: leave one out", p.data_file));
  const bool sizes = raw.size || raw.nx || raw.ny || raw.nz;
  if (sizes || raw.density)
    refuse_option(fmt::format("{} contradicts the data file {}, which has the box: leave one out (--data_file none)",
                              sizes ? "the size" : "--density", p.data_file));
}

void start_problem(options& o, const raw_options& raw) {
  if (o.input_file.empty())
    o.what = built_in(read_force(raw).value_or(force_style::lj));
  else
    start_from_file(o, raw);
  if (!raw.data.empty()) o.what.data_file = raw.data == "none" ? "" : raw.data;
  if (!raw.eam.empty() && o.what.force != force_style::eam)
    refuse_option(fmt::format("--eam {} needs --force eam: these atoms are Lennard-Jones'", raw.eam));
  if (!raw.eam.empty()) o.what.eam_file = raw.eam;
  if (!raw.units.empty())
    o.what.units = read_word<unit_system>("--units", raw.units, {"lj", unit_system::lj}, {"metal", unit_system::metal});
}

void take_numbers(problem& p, const raw_options& raw) {
  check_data_file(p, raw);
  take_sizes(p, raw);
  take_at_least("--nsteps", raw.steps, 0, p.steps);
  take_at_least("--reneighbour", raw.reneighbour, 0, p.reneighbour_every);
  take_at_least("--thermo", raw.thermo, 0, p.thermo_every);
  take_real("--dt", raw.dt, zero::refused, p.dt);
  take_real("--temperature", raw.temperature, zero::allowed, p.temperature);
  take_real("--density", raw.density, zero::refused, p.density);
  if (raw.density) p.lattice_constant = 0;
  take_real("--imbalance", raw.imbalance, zero::refused, p.imbalance);
  take_real("--cutoff", raw.cutoff, zero::refused, p.cutoff);
  take_real("--skin", raw.skin, zero::allowed, p.skin);
}

}  // namespace

void read_problem(options& o, const raw_options& raw) {
  start_problem(o, raw);
  take_numbers(o.what, raw);
}

}  // namespace md
