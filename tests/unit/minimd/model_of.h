#pragma once

#include <cmath>

#include "system/initial_state.h"
#include "system/model.h"

namespace md_test {

/// How a system is run, for tests over many ways.
struct way {
  md::box_index cut{1, 1, 1};
  md::list_rule rule{};
  md::exchange_style exchange = md::exchange_style::direct;
  md::instruction_set isa = md::instruction_set::baseline;
};

inline md::model model_of(const md::problem& p, const way& w, const md::funcfl* eam = nullptr,
                          const md::initial_atoms* initial = nullptr) {
  return {p, md::num_atoms_of(p, initial), md::lengths_of(p, initial), w.cut, w.rule, w.exchange, w.isa, eam};
}

inline md::problem small_problem(std::int64_t cells) {
  md::problem p;
  p.cells = {cells, cells, cells};
  return p;
}

/// A metal that is none, smooth, with all that the method has.
inline md::funcfl made_up_metal() {
  md::funcfl f;
  f.mass = 60;
  f.cutoff = 4.9;
  f.dr = 0.01;
  f.drho = 0.01;
  for (int i = 0; i < 500; ++i) {
    const double r = i * f.dr, x = r / 5.0;
    f.embedding.push_back(-2.0 * std::sqrt(i * f.drho + 0.04) + 0.4);
    f.charge.push_back(i == 0 ? 8 : 8 * std::exp(-1.4 * r) * (1 - x) * (1 - x));
    f.density.push_back(0.5 * std::exp(-0.9 * r) * (1 - x) * (1 - x));
  }
  return f;
}

inline md::problem metal_problem(std::int64_t cells) {
  md::problem p;
  p.units = md::unit_system::metal;
  p.force = md::force_style::eam;
  p.cells = {cells, cells, cells};
  p.density = 0.07041125;
  p.dt = 0.001;
  p.temperature = 600;
  p.cutoff = 4.95;
  p.skin = 1.0;
  return p;
}

}  // namespace md_test
