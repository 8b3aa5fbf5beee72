#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "options.h"
#include "output/run_facts.h"
#include "system/model.h"

namespace md {

/// What a run needs beside its options: the files they name, read, and from those the model. Every rank makes its own.
class run_setup {
 public:
  /// Throws `config_error` for files that cannot be used.
  explicit run_setup(const options& o);

  const options& given() const { return options_; }
  const initial_atoms* initial() const { return initial_ ? &*initial_ : nullptr; }
  vector3 lengths() const;
  std::int64_t num_atoms() const { return num_atoms_; }
  /// For a box cut so. Throws `usage_error` for a system that is too small, or options that exclude each other.
  model model_of(const box_index& cut) const;
  /// How `count` boxes are arranged.
  box_index cut_into(std::int64_t count) const;

  /// All that is known before the first step but for ranks, PEs, the device and the decomposition.
  run_facts facts(int argc, const char* const* argv) const;

 private:
  options options_;
  std::optional<initial_atoms> initial_;
  std::optional<funcfl> eam_;
  std::int64_t num_atoms_ = 0;
  double densest_ = 0;
};

/// Steps whose state is told, from 0 on.
std::vector<std::int64_t> thermo_steps(const problem& p);
inline bool is_thermo_step(const problem& p, std::int64_t step) {
  return step == p.steps || (p.thermo_every != 0 && step % p.thermo_every == 0);
}
/// Whether the atoms are dumped after this step.
inline bool is_dump_step(const options& o, std::int64_t step) {
  return !o.dumps.empty() && (step == o.what.steps || (o.dump_every != 0 && step % o.dump_every == 0));
}

}  // namespace md
