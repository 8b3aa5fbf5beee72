#include "output/yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "support/output_place.h"

namespace md {
namespace {

/// With a point, without which readers of YAML 1.1 take 1e-05 for a text and 1 for a whole number.
std::string number(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value < 0 ? "-.inf" : ".inf";
  std::string text = fmt::format("{:.17g}", value);
  if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".0");
  return text;
}

/// YAML's double quotes know JSON's escapes.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// One line for each call.
class lines {
 public:
  explicit lines(std::ostream& out) : out_(out) {}
  void text(const char* key, const std::string& value) { out_ << key << ": " << value << "\n"; }
  void real(const char* key, double value) { text(key, number(value)); }
  void whole(const char* key, std::int64_t value) { text(key, std::to_string(value)); }
  void section(const char* key) { out_ << key << ":\n"; }
  void gap() { out_ << "\n\n"; }

 private:
  std::ostream& out_;
};

void write_physics(lines& to, const run_facts& f) {
  const problem& p = f.what;
  to.text("  datafile", p.data_file.empty() ? "None" : quoted(p.data_file));
  to.text("  units", reference_name(p.units));
  to.whole("  atoms", f.num_atoms);
  to.whole("  atom_types", 1);
  to.text("  system_size", fmt::format("[{}, {}, {}]", number(f.box[0]), number(f.box[1]), number(f.box[2])));
  if (p.data_file.empty()) to.text("  unit_cells", fmt::format("[{}]", fmt::join(p.cells, ", ")));
  to.real("  density", density(f));
  to.text("  force_type", reference_name(p.force));
  to.real("  force_cutoff", p.cutoff);
  if (p.force == force_style::lj)
    to.text("  force_params", fmt::format("[{}, {}]", number(p.epsilon), number(p.sigma)));
  else
    to.text("  force_file", quoted(p.eam_file));
  to.real("  neighbor_cutoff", p.neighbour_cutoff());
}

void write_numerics(lines& to, const run_facts& f) {
  to.whole("  neighbor_type", f.lists == list_style::half);
  to.whole("  neighbor_frequency", f.what.reneighbour_every);
  to.real("  timestep_size", f.what.dt);
  to.whole("  timesteps", f.what.steps);
  to.whole("  thermo_frequency", f.what.thermo_every);
  to.whole("  ghost_newton", f.ghost_newton);
  to.whole("  float_size", sizeof(double));
}

void write_execution(lines& to, const run_facts& f) {
  to.whole("  chares", f.num_chares);
  to.text("  decomposition", fmt::format("[{}]", fmt::join(f.decomposition, ", ")));
  to.real("  odf", odf(f));
  to.text("  device", quoted(f.device));
  to.text("  exchange", quoted(f.exchange));
  to.text("  instruction_set", quoted(f.instruction_set));
  to.whole("  deterministic", f.deterministic);
  to.text("  command", quoted(f.command));
}

void write_configuration(lines& to, const run_facts& f) {
  to.section("run_configuration");
  to.text("  variant", quoted(f.implementation));
  to.whole("  mpi_processes", f.num_ranks);
  to.whole("  thread_teams", 1);
  to.whole("  threads", f.pes_per_rank);
  write_physics(to, f);
  write_numerics(to, f);
  write_execution(to, f);
}

double conserved(const run_facts& f, const thermo_row& row) {
  return 1.5 * boltzmann(f.what.units) * row.temperature + row.energy;
}

void write_thermo(lines& to, const run_facts& f) {
  if (f.thermo.empty()) return to.text("thermodynamic_output", "[]");
  to.section("thermodynamic_output");
  for (const thermo_row& row : f.thermo) {
    to.whole("  - timestep", row.step);
    to.real("    T*", row.temperature);
    to.real("    U*", row.energy);
    to.real("    P*", row.pressure);
    to.real("    Conservation", conserved(f, row) / conserved(f, f.thermo.front()));
  }
}

void write_times(lines& to, const run_facts& f) {
  to.section("time");
  to.section("  total");
  to.real("    time", f.seconds.total);
  to.real("    performance", atom_steps_per_second(f));
  to.real("    performance_proc", atom_steps_per_pe_second(f));
  to.real("  force", f.seconds.force);
  to.real("  neigh", f.seconds.neighbour);
  to.real("  comm", f.seconds.communication);
  to.real("  other", f.seconds.other);
}

}  // namespace

void write_yaml(std::ostream& out, const run_facts& f) {
  lines to(out);
  write_configuration(to, f);
  to.gap();
  write_thermo(to, f);
  to.gap();
  write_times(to, f);
}

void write_yaml_file(const std::string& path, const run_facts& f) {
  std::ostringstream text;
  write_yaml(text, f);
  apps::write_output(path, text.view());
}

std::string yaml_file_name(std::time_t when) {
  std::tm local{};
  localtime_r(&when, &local);
  char text[64];
  const std::size_t length = std::strftime(text, sizeof(text), "miniMD-%Y-%m-%d-%H-%M-%S.yaml", &local);
  return {text, length};
}

}  // namespace md
