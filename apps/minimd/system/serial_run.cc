#include "system/serial_run.h"

#include "imbrex/base/clock.h"
#include "system/initial_state.h"
#include "system/thermodynamics.h"

namespace md {

void make_whole_system(domain& all, const model& m, const initial_atoms* initial) {
  add_initial_atoms(all, m, initial);
  if (!needs_velocities(initial)) return;
  apps::exact_sum sums[3], mvv;
  all.sum_velocities(sums);
  all.shift_velocities(mean_velocity(m.scale, sums));
  all.sum_kinetic(mvv);
  all.scale_velocities(velocity_factor(m.scale, m.what.temperature, mvv.to_double()));
}

serial_run::serial_run(const model& m, const initial_atoms* initial) : model_(m), all_(m, {0, 0, 0}) {
  make_whole_system(all_, m, initial);
}

// All links lead to this box itself: what goes by link k comes by its opposite.
template <class Pack, class Unpack>
void serial_run::exchange(Pack pack, Unpack unpack) {
  for (int k = 0; k < all_.num_links(); ++k) {
    (all_.*pack)(k, buffer_);
    (all_.*unpack)(all_.opposite(k), buffer_);
  }
}

void serial_run::reneighbour() {
  static_cast<void>(all_.take_leavers());
  all_.sort();
  all_.forget_ghosts();
  for (int r = 0; r < all_.num_rounds(); ++r) {
    all_.choose_ghosts(r);
    for (int k = all_.first_link(r); k < all_.first_link(r + 1); ++k) {
      all_.pack_ghosts(all_.opposite(k), buffer_);
      all_.add_ghosts(k, buffer_);
    }
  }
  all_.build_lists();
}

void serial_run::forces(bool wants_energy) {
  all_.begin_forces(wants_energy);
  if (model_.embedded) exchange(&domain::pack_slopes, &domain::unpack_slopes);
  all_.end_forces();
  if (!model_.sends_forces_back()) return;
  for (int k = all_.num_links() - 1; k >= 0; --k) {
    all_.pack_forces(k, buffer_);
    all_.add_forces(all_.opposite(k), buffer_);
  }
}

thermo_row serial_run::state() const {
  thermo_sums sums;
  all_.sum_thermo(sums);
  return row_of(model_.scale, step_, sums);
}

void serial_run::run(std::int64_t steps, const std::function<void(const thermo_row&)>& row) {
  const problem& p = model_.what;
  if (step_ == 0) {
    reneighbour();
    forces(true);
    row(state());
  }
  const std::int64_t began = imbrex::now_ns();
  for (const std::int64_t last = step_ + steps; step_ < last;) {
    ++step_;
    all_.first_half_step();
    if (p.reneighbour_every != 0 && step_ % p.reneighbour_every == 0) {
      reneighbour();
    } else {
      exchange(&domain::pack_positions, &domain::unpack_positions);
    }
    const bool wanted = step_ == last || (p.thermo_every != 0 && step_ % p.thermo_every == 0);
    forces(wanted);
    all_.second_half_step();
    if (!wanted) continue;
    thermo_row r = state();
    r.seconds = static_cast<double>(imbrex::now_ns() - began) * 1e-9;
    row(r);
  }
}

}  // namespace md
