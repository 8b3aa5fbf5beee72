#include "system/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "imbrex/base/error.h"

namespace md {

domain::domain(const model& m, const box_index& where)
    : model_(m), where_(where), half_kick_(m.scale.half_kick(m.what.dt, m.mass)), lists_(m.boxes.reach(), m.lists) {
  for (int d = 0; d < 3; ++d) {
    lo_[d] = m.boxes.begin_of(d, where[d]);
    hi_[d] = m.boxes.begin_of(d, where[d] + 1);
  }
  m.exchange == exchange_style::direct ? make_direct_links() : make_links_in_rounds();
  find_neighbours();
}

void domain::add_link(const box_index& offset) {
  const decomposition& boxes = model_.boxes;
  const decomposition::neighbour n = boxes.at_offset(where_, offset);
  link l;
  l.box = n.box;
  l.is_own = n.box == where_;
  for (int d = 0; d < 3; ++d) {
    l.shift[d] = n.shift[d] * boxes.lengths()[d];
    l.lo[d] = boxes.begin_of(d, n.box[d]);
    l.hi[d] = boxes.begin_of(d, n.box[d] + 1);
  }
  links_.push_back(std::move(l));
}

void domain::make_direct_links() {
  for (const box_index& offset : model_.boxes.offsets()) {
    add_link(offset);
    links_.back().opposite = model_.boxes.opposite(num_links() - 1);
  }
  rounds_ = {0, num_links()};
}

// Each direction has as many rounds as there are layers of boxes within reach.
void domain::make_links_in_rounds() {
  constexpr double everywhere = 1e300;
  rounds_ = {0};
  for (int d = 0; d < 3; ++d) {
    for (int layer = 0; layer < model_.boxes.layers()[d]; ++layer) {
      for (const int side : {-1, 1}) {
        box_index offset{};
        offset[d] = side;
        add_link(offset);
        const int k = num_links() - 1;
        link& l = links_[k];
        l.opposite = k ^ 1;
        for (int other = 0; other < 3; ++other) {
          if (other == d) continue;
          l.lo[other] = -everywhere;
          l.hi[other] = everywhere;
        }
        if (layer > 0) l.after = (k ^ 1) - 2;  // what came from the other side
      }
      rounds_.push_back(num_links());
    }
  }
}

void domain::find_neighbours() {
  const auto& layers = model_.boxes.layers();
  for (int z = -layers[2]; z <= layers[2]; ++z)
    for (int y = -layers[1]; y <= layers[1]; ++y)
      for (int x = -layers[0]; x <= layers[0]; ++x)
        neighbours_.push_back(model_.boxes.at_offset(where_, {x, y, z}).box);
  std::ranges::sort(neighbours_, {}, [this](const box_index& b) { return model_.boxes.number_of(b); });
  const auto doubles = std::ranges::unique(neighbours_);
  neighbours_.erase(doubles.begin(), doubles.end());
  std::erase(neighbours_, where_);
}

void domain::add(const atom_record& a) {
  const auto n = static_cast<std::size_t>(atoms_.num_own++);
  atoms_.x.resize(n);
  atoms_.id.resize(n);
  atoms_.x.push_back({a.position[0], a.position[1], a.position[2], 0});
  atoms_.v.push_back({a.velocity[0], a.velocity[1], a.velocity[2], 0});
  atoms_.id.push_back(a.id);
}

// ------------------------------------------------------------------------------------------------ moving

void domain::first_half_step() {
  const double kick = half_kick_, dt = model_.what.dt;
  for (std::int32_t i = 0; i < atoms_.num_own; ++i) {
    vector4 &x = atoms_.x[i], &v = atoms_.v[i];
    const vector4& f = atoms_.f[i];
    v.x += kick * f.x;
    v.y += kick * f.y;
    v.z += kick * f.z;
    x.x += dt * v.x;
    x.y += dt * v.y;
    x.z += dt * v.z;
  }
}

void domain::second_half_step() {
  const double kick = half_kick_;
  for (std::int32_t i = 0; i < atoms_.num_own; ++i) {
    vector4& v = atoms_.v[i];
    const vector4& f = atoms_.f[i];
    v.x += kick * f.x;
    v.y += kick * f.y;
    v.z += kick * f.z;
  }
}

void domain::begin_forces(bool wants_energy) {
  wants_energy_ = wants_energy;
  const auto own = static_cast<std::size_t>(atoms_.num_own);
  if (wants_energy) {
    energy_.resize(own);
    virial_.resize(own);
  }
  if (model_.lists.style == list_style::half) std::ranges::fill(atoms_.f, vector4{});
  if (!model_.embedded) {
    model_.pair_forces(model_.pairs, work());
    return;
  }
  density_.resize(own);
  slope_.resize(atoms_.x.size());
  model_.metal_forces.embed(*model_.embedded, {work(), density_.data(), slope_.data()});
}

void domain::end_forces() {
  if (model_.embedded) model_.metal_forces.forces(*model_.embedded, {work(), density_.data(), slope_.data()});
}

force_work domain::work() {
  return {.x = atoms_.x.data(),
          .f = atoms_.f.data(),
          .lists = &lists_,
          .num_own = atoms_.num_own,
          .num_whole = model_.lists.ghost_newton ? atoms_.num_all() : atoms_.num_own,
          .energy = wants_energy_ ? energy_.data() : nullptr,
          .virial = wants_energy_ ? virial_.data() : nullptr};
}

// ------------------------------------------------------------------------------------------------ ghosts

void domain::pack_positions(int k, std::vector<double>& out) const {
  const link& l = links_[k];
  out.resize(3 * l.sent.size());
  double* to = out.data();
  for (const std::int32_t i : l.sent) {
    const vector4& p = atoms_.x[i];
    *to++ = p.x + l.shift[0];
    *to++ = p.y + l.shift[1];
    *to++ = p.z + l.shift[2];
  }
}

void domain::unpack_positions(int k, std::span<const double> in) {
  check_count(k, in.size(), 3);
  const double* from = in.data();
  vector4* to = atoms_.x.data() + links_[k].first_ghost;
  for (std::int32_t n = links_[k].num_ghosts; n > 0; --n, from += 3) *to++ = {from[0], from[1], from[2], 0};
}

void domain::pack_slopes(int k, std::vector<double>& out) const {
  out.clear();
  for (const std::int32_t i : links_[k].sent) out.push_back(slope_[i]);
}

void domain::unpack_slopes(int k, std::span<const double> in) {
  check_count(k, in.size(), 1);
  std::ranges::copy(in, slope_.begin() + links_[k].first_ghost);
}

void domain::pack_forces(int k, std::vector<double>& out) const {
  const link& l = links_[k];
  out.clear();
  for (std::int32_t i = l.first_ghost; i < l.first_ghost + l.num_ghosts; ++i)
    out.insert(out.end(), {atoms_.f[i].x, atoms_.f[i].y, atoms_.f[i].z});
}

void domain::add_forces(int k, std::span<const double> in) {
  const link& l = links_[k];
  if (in.size() != 3 * l.sent.size())
    throw imbrex::error(fmt::format("forces on {} ghosts came back of {} sent", in.size() / 3, l.sent.size()));
  const double* from = in.data();
  for (const std::int32_t i : l.sent) {
    vector4& f = atoms_.f[i];
    f.x += *from++;
    f.y += *from++;
    f.z += *from++;
  }
}

void domain::check_count(int k, std::size_t doubles, std::size_t each) const {
  if (doubles != each * static_cast<std::size_t>(links_[k].num_ghosts))
    throw imbrex::error(fmt::format("{} ghosts came where there are {}", doubles / each, links_[k].num_ghosts));
}

// ------------------------------------------------------------------------------------------------ sums

void domain::sum_velocities(apps::exact_sum (&sums)[3]) const {
  for (const vector4& v : atoms_.v) {
    sums[0].add(v.x);
    sums[1].add(v.y);
    sums[2].add(v.z);
  }
}

void domain::shift_velocities(const vector3& by) {
  for (vector4& v : atoms_.v) v = {v.x - by[0], v.y - by[1], v.z - by[2], 0};
}

void domain::scale_velocities(double by) {
  for (vector4& v : atoms_.v) v = {v.x * by, v.y * by, v.z * by, 0};
}

void domain::sum_kinetic(apps::exact_sum& sum) const {
  for (const vector4& v : atoms_.v) sum.add((v.x * v.x + v.y * v.y + v.z * v.z) * model_.mass);
}

void domain::sum_thermo(thermo_sums& sums) const {
  sum_kinetic(sums.kinetic);
  for (const double e : energy_) sums.energy.add(e);
  for (const double w : virial_) sums.virial.add(w);
}

std::uint64_t domain::bytes() const {
  std::uint64_t n = (atoms_.x.capacity() + atoms_.v.capacity() + atoms_.f.capacity()) * sizeof(vector4) +
                    atoms_.id.capacity() * sizeof(std::int64_t) + lists_.bytes();
  for (const link& l : links_) n += l.sent.capacity() * sizeof(std::int32_t);
  return n + (energy_.capacity() + virial_.capacity() + density_.capacity() + slope_.capacity()) * sizeof(double);
}

}  // namespace md
