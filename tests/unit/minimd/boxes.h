// A system in several boxes, stepped in turn by one thread: what goes between them is handed over.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "system/domain.h"
#include "system/initial_state.h"
#include "system/serial_run.h"
#include "system/thermodynamics.h"

namespace md_test {

class boxes {
 public:
  explicit boxes(const md::model& m, const md::initial_atoms* initial = nullptr) : model_(m) {
    for (std::int64_t n = 0; n < m.boxes.num_boxes(); ++n) {
      all_.push_back(std::make_unique<md::domain>(m, m.boxes.box_at(n)));
      md::add_initial_atoms(*all_.back(), m, initial);
    }
    if (md::needs_velocities(initial)) set_velocities();
    reneighbour();
    forces(true);
  }

  void step(bool wants_energy = true) {
    ++step_;
    for (auto& d : all_) d->first_half_step();
    const std::int64_t every = model_.what.reneighbour_every;
    if (every != 0 && step_ % every == 0) {
      reneighbour();
    } else {
      for (int r = 0; r < num_rounds(); ++r) exchange(r, &md::domain::pack_positions, &md::domain::unpack_positions);
    }
    forces(wants_energy);
    for (auto& d : all_) d->second_half_step();
  }
  md::thermo_row state() const {
    md::thermo_sums sums;
    for (const auto& d : all_) d->sum_thermo(sums);
    return md::row_of(model_.scale, step_, sums);
  }
  /// By id.
  std::map<std::int64_t, md::vector4> forces_by_id() const { return by_id(&md::atom_arrays::f); }
  std::map<std::int64_t, md::vector4> velocities_by_id() const { return by_id(&md::atom_arrays::v); }
  std::vector<std::unique_ptr<md::domain>>& all() { return all_; }

 private:
  int num_rounds() const { return all_[0]->num_rounds(); }
  md::domain& at(const md::box_index& b) { return *all_[static_cast<std::size_t>(model_.boxes.number_of(b))]; }

  void set_velocities() {
    apps::exact_sum sums[3], mvv;
    for (auto& d : all_) d->sum_velocities(sums);
    for (auto& d : all_) d->shift_velocities(md::mean_velocity(model_.scale, sums));
    for (auto& d : all_) d->sum_kinetic(mvv);
    for (auto& d : all_)
      d->scale_velocities(md::velocity_factor(model_.scale, model_.what.temperature, mvv.to_double()));
  }
  template <class Pack, class Unpack>
  void exchange(int r, Pack pack, Unpack unpack) {
    std::vector<std::vector<std::vector<double>>> come(all_.size());
    for (auto& c : come) c.resize(static_cast<std::size_t>(all_[0]->num_links()));
    for (auto& d : all_)
      for (int k = d->first_link(r); k < d->first_link(r + 1); ++k)
        ((*d).*pack)(k, come[static_cast<std::size_t>(model_.boxes.number_of(d->box_of(k)))]
                            [static_cast<std::size_t>(d->opposite(k))]);
    for (std::size_t n = 0; n < all_.size(); ++n)
      for (int k = all_[n]->first_link(r); k < all_[n]->first_link(r + 1); ++k)
        ((*all_[n]).*unpack)(k, come[n][static_cast<std::size_t>(k)]);
  }
  void reneighbour() {
    std::vector<std::vector<md::atom_record>> come(all_.size());
    for (auto& d : all_) {
      const auto leavers = d->take_leavers();
      for (std::size_t n = 0; n < leavers.size(); ++n)
        for (const auto& a : leavers[n])
          come[static_cast<std::size_t>(model_.boxes.number_of(d->neighbour_boxes()[n]))].push_back(a);
    }
    for (std::size_t n = 0; n < all_.size(); ++n) {
      for (const auto& a : come[n]) all_[n]->add(a);
      all_[n]->sort();
      all_[n]->forget_ghosts();
    }
    for (int r = 0; r < num_rounds(); ++r) {
      for (auto& d : all_) d->choose_ghosts(r);
      exchange(r, &md::domain::pack_ghosts, &md::domain::add_ghosts);
    }
    for (auto& d : all_) d->build_lists();
  }
  void forces(bool wants_energy) {
    for (auto& d : all_) d->begin_forces(wants_energy);
    if (model_.embedded)
      for (int r = 0; r < num_rounds(); ++r) exchange(r, &md::domain::pack_slopes, &md::domain::unpack_slopes);
    for (auto& d : all_) d->end_forces();
    if (!model_.sends_forces_back()) return;
    for (int r = num_rounds() - 1; r >= 0; --r) exchange(r, &md::domain::pack_forces, &md::domain::add_forces);
  }
  std::map<std::int64_t, md::vector4> by_id(std::vector<md::vector4> md::atom_arrays::* which) const {
    std::map<std::int64_t, md::vector4> all;
    for (const auto& d : all_)
      for (std::int32_t i = 0; i < d->num_atoms(); ++i) all[d->atoms().id[i]] = (d->atoms().*which)[i];
    return all;
  }

  const md::model& model_;
  std::vector<std::unique_ptr<md::domain>> all_;
  std::int64_t step_ = 0;
};

}  // namespace md_test
