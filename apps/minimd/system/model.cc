#include "system/model.h"

#include "imbrex/base/error.h"

namespace md {

model::model(const problem& p, std::int64_t atoms, const vector3& lengths, const box_index& cut, const list_rule& rule,
             exchange_style style, instruction_set wanted, const funcfl* eam)
    : what(p),
      boxes(lengths, cut, p.neighbour_cutoff()),
      scale(p, atoms, lengths),
      lists(rule),
      exchange(style),
      isa(rule.by_id ? instruction_set::baseline : wanted),
      pairs(lennard_jones::of(p)),
      pair_forces(lennard_jones_forces(rule.style, isa)),
      metal_forces(embedded_forces(rule.style, isa)),
      mass(p.mass),
      densest(static_cast<double>(scale.num_atoms) / scale.volume) {
  lists.half_shell = sends_forces_back() && style == exchange_style::direct;
  if (p.force != force_style::eam) return;
  if (eam == nullptr) throw imbrex::usage_error("the embedded atom method needs a funcfl file");
  if (rule.style == list_style::half && rule.ghost_newton)
    throw imbrex::usage_error("the embedded atom method needs ghost_newton 0");
  embedded.emplace(*eam);
  mass = embedded->mass;
}

}  // namespace md
