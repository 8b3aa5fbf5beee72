#include "run_setup.h"

#include <fmt/format.h>

#include <algorithm>

#include "imbrex/base/error.h"
#include "input/funcfl_file.h"
#include "input/lammps_data.h"
#include "system/initial_state.h"

namespace md {

run_setup::run_setup(const options& o) : options_(o) {
  problem& p = options_.what;
  if (!p.data_file.empty()) {
    initial_ = read_lammps_data(p.data_file);
    if (initial_->mass != 0) p.mass = initial_->mass;
    p.density = static_cast<double>(initial_->ids.size()) / (lengths()[0] * lengths()[1] * lengths()[2]);
  }
  num_atoms_ = num_atoms_of(p, initial());
  densest_ = initial_ ? densest_of(*initial_, lengths(), 3 * p.neighbour_cutoff()) : lattice(p).full_density();
  if (p.force != force_style::eam) return;
  eam_ = read_funcfl(p.eam_file);
  p.mass = eam_->mass;
  if (eam_->cutoff <= p.cutoff * (1 + 1e-9)) return;
  throw imbrex::config_error(fmt::format("{} acts up to {}, beyond the cutoff {}: give --cutoff {}", p.eam_file,
                                         eam_->cutoff, p.cutoff, eam_->cutoff));
}

vector3 run_setup::lengths() const { return lengths_of(options_.what, initial()); }

model run_setup::model_of(const box_index& cut) const {
  const list_rule rule{options_.lists, options_.lists == list_style::half && options_.ghost_newton,
                       options_.deterministic};
  model m{options_.what,          num_atoms(), lengths(), cut, rule, options_.exchange, best_instruction_set(),
          eam_ ? &*eam_ : nullptr};
  m.densest = std::max(m.densest, densest_);
  return m;
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

}  // namespace md
