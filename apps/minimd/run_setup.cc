#include "run_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <iostream>

#include "imbrex/base/error.h"
#include "input/funcfl_file.h"
#include "input/lammps_data.h"
#include "output/dump.h"
#include "output/report.h"
#include "output/screen.h"
#include "output/yaml.h"
#include "system/initial_state.h"
#include "system/serial_run.h"

namespace md {

run_setup::run_setup(const options& o) : options_(o) {
  problem& p = options_.what;
  if (!p.data_file.empty()) {
    initial_ = read_lammps_data(p.data_file);
    if (initial_->mass != 0) p.mass = initial_->mass;
    p.density = static_cast<double>(initial_->ids.size()) / (lengths()[0] * lengths()[1] * lengths()[2]);
  }
  if (p.force != force_style::eam) return;
  eam_ = read_funcfl(p.eam_file);
  p.mass = eam_->mass;
  if (eam_->cutoff <= p.cutoff * (1 + 1e-9)) return;
  throw imbrex::config_error(fmt::format("{} acts up to {}, beyond the cutoff {}: give --cutoff {}", p.eam_file,
                                         eam_->cutoff, p.cutoff, eam_->cutoff));
}

vector3 run_setup::lengths() const { return lengths_of(options_.what, initial()); }
std::int64_t run_setup::num_atoms() const { return num_atoms_of(options_.what, initial()); }

model run_setup::model_of(const box_index& cut) const {
  const list_rule rule{options_.lists, options_.lists == list_style::half && options_.ghost_newton,
                       options_.deterministic};
  return {options_.what,          num_atoms(), lengths(), cut, rule, options_.exchange, best_instruction_set(),
          eam_ ? &*eam_ : nullptr};
}

box_index run_setup::cut_into(std::int64_t count) const { return decomposition::of_least_surface(lengths(), count); }

run_facts run_setup::facts(int argc, const char* const* argv) const {
  run_facts f;
  f.what = options_.what;
  f.implementation = name(options_.impl);
  f.device = options_.device;
  f.exchange = name(options_.exchange);
  f.instruction_set = name(options_.deterministic ? instruction_set::baseline : best_instruction_set());
  f.lists = options_.lists;
  f.ghost_newton = options_.lists == list_style::half && options_.ghost_newton;
  f.deterministic = options_.deterministic;
  f.num_atoms = num_atoms();
  f.box = lengths();
  for (int i = 0; i < argc; ++i) f.command += (i == 0 ? "" : " ") + std::string(argv[i]);
  return f;
}

std::vector<std::int64_t> thermo_steps(const problem& p) {
  std::vector<std::int64_t> steps{0};
  for (std::int64_t s = 1; s <= p.steps; ++s)
    if (is_thermo_step(p, s)) steps.push_back(s);
  return steps;
}

std::vector<dump_atom> dump_atoms(const domain& box) {
  const atom_arrays& a = box.atoms();
  std::vector<dump_atom> atoms;
  atoms.reserve(static_cast<std::size_t>(a.num_own));
  for (std::int32_t i = 0; i < a.num_own; ++i)
    atoms.push_back({a.id[i], 1, {a.x[i].x, a.x[i].y, a.x[i].z}, {a.v[i].x, a.v[i].y, a.v[i].z}});
  return atoms;
}

void print_head(const options& o, const run_facts& f) {
  if (o.quiet) return;
  for (const std::string& note : o.notes) fmt::print("{}\n", note);
  fmt::print("{}{}", header_text(f), columns_text());
  std::fflush(stdout);
}

void check_outputs(const options& o) {
  if (!o.report.empty()) check_report_writable(o.report);
  for (const std::string& path : o.dumps) check_dump_suffix(path);
}

void note_facts(run_facts& f, const block_facts& done, int num_threads) {
  const double each = 1e-9 / num_threads;
  phase_times& t = f.seconds;
  t.total = f.thermo.back().seconds;
  t.force = static_cast<double>(done.force_ns) * each;
  t.neighbour = static_cast<double>(done.neighbour_ns) * each;
  t.other = static_cast<double>(done.other_ns) * each;
  t.communication = std::max(0.0, t.total - t.force - t.neighbour - t.other);
  f.memory_bytes = done.bytes;
}

void conclude(const options& o, const run_facts& f) {
  if (!o.quiet) fmt::print("{}", summary_text(f));
  std::fflush(stdout);
  if (!o.yaml.empty()) write_yaml_file(o.yaml, f);
  if (o.yaml_screen) write_yaml(std::cout, f);
  if (!o.report.empty()) write_report(o.report, f);
}

namespace {

double difference(double a, double b) { return std::abs(a - b) / std::max(1.0, std::abs(b)); }

}  // namespace

bool verify(const run_setup& s, const run_facts& f) {
  const double tolerance = s.given().what.single ? 1e-4 : 1e-9;
  const model m = s.model_of({1, 1, 1});
  serial_run alone(m, s.initial());
  const std::int64_t last = std::min<std::int64_t>(s.given().what.single ? 100 : 200, m.what.steps);
  double worst = 0;
  std::size_t num_compared = 0;
  alone.run(last, [&](const thermo_row& row) {
    const auto found = std::ranges::find(f.thermo, row.step, &thermo_row::step);
    if (found == f.thermo.end()) return;
    ++num_compared;
    for (const double d : {difference(found->temperature, row.temperature), difference(found->energy, row.energy),
                           difference(found->pressure, row.pressure)})
      worst = d <= worst ? worst : d;  // no number is worst
  });
  const bool good = worst <= tolerance && num_compared > 0;
  fmt::print("{}: {} states up to step {} differ from those of one box, stepped by a loop, by {:.2g} at most\n",
             good ? "verified" : "WRONG", num_compared, last, worst);
  return good;
}

}  // namespace md
