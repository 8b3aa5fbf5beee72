#include "chares/block.h"

#include <algorithm>
#include <span>
#include <utility>

#include "chares/shared_model.h"
#include "run_output.h"
#include "system/initial_state.h"

namespace md {

block_job this_job;

namespace {

/// Adds what has passed since it was made to a sum.
class stopwatch {
 public:
  explicit stopwatch(std::int64_t& sum) : sum_(sum) {}
  ~stopwatch() { sum_ += apps::pe_time_ns() - began_; }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;

 private:
  std::int64_t& sum_;
  const std::int64_t began_ = apps::pe_time_ns();
};

/// Where `who` stands among the neighbours of the box at `at`.
int place_of(const domain& d, const box_index& who) {
  const auto& all = d.neighbour_boxes();
  return static_cast<int>(std::ranges::find(all, who) - all.begin());
}

}  // namespace

block::block()
    : options_(this_job.setup->given()),
      model_(shared_model(*this_job.setup, box_of(extent()))),
      all_(*model_, box_of(index())),
      buffers_(static_cast<std::size_t>(all_.num_links())) {}

void block::make() {
  add_initial_atoms(all_, *model_, this_job.setup->initial());
  apps::exact_sum sums[3];
  all_.sum_velocities(sums);
  contribute(limbs<3>({&sums[0], &sums[1], &sums[2]}), imbrex::sum);
}

void block::shift_velocities(vector3 by) {
  all_.shift_velocities(by);
  apps::exact_sum sum;
  all_.sum_kinetic(sum);
  contribute(limbs<1>({&sum}), imbrex::sum);
}

void block::scale_velocities(double by) { all_.scale_velocities(by); }

imbrex::task<> block::run() {
  const problem& p = options_.what;
  if (!is_half_way_) {
    auto first_lists = reneighbour();
    co_await first_lists;
    auto first_forces = compute_forces(true);
    co_await first_forces;
    facts_ = {};
    began_ns_ = apps::pe_time_ns();
    auto told = tell_state();
    co_await told;
  }
  while (is_half_way_ || step_ < p.steps) {
    if (!is_half_way_) ++step_;
    if (this_job.shown != nullptr && index() == imbrex::index3d{0, 0, 0}) this_job.shown->update(step_);
    if (!is_half_way_) {
      const stopwatch timed(facts_.other_ns);
      all_.first_half_step();
    }
    if (p.reneighbour_every != 0 && step_ % p.reneighbour_every == 0) {
      if (!std::exchange(is_half_way_, false)) {
        co_await imbrex::checkpoint_point(*this);
        co_await imbrex::move_point(*this);
      }
      auto lists = reneighbour();
      co_await lists;
    } else {
      for (int r = 0; r < all_.num_rounds(); ++r) {
        auto moved = exchange<&block::positions>(r, &domain::pack_positions, &domain::unpack_positions);
        co_await moved;
      }
    }
    auto forces_now = compute_forces(is_thermo_step(p, step_));
    co_await forces_now;
    {
      const stopwatch timed(facts_.other_ns);
      all_.second_half_step();
    }
    if (!is_thermo_step(p, step_) && !is_dump_step(options_, step_)) continue;
    auto told_now = tell_state();
    co_await told_now;
  }
  facts_.atoms = all_.num_atoms();
  facts_.bytes = static_cast<std::int64_t>(all_.bytes());
  contribute(facts_, add_facts{});
}

imbrex::task<> block::tell_state() {
  if (step_ == 0 || is_thermo_step(options_.what, step_)) {
    thermo_sums sums;
    all_.sum_thermo(sums);
    contribute(thermo_share{limbs(sums), apps::pe_time_ns() - began_ns_}, add_shares{});
  }
  if (is_dump_step(options_, step_)) dumps_.send<&collector::frame>(step_, dump_atoms(all_));
  // A block that is alone on its PE would never let go of it: whoever prints and writes has a turn now.
  array()[index()].with(imbrex::priority{imbrex::priority::least_urgent}).send<&block::turn>(step_);
  co_await turn(step_);
}

void block::sort_if_due() {
  const std::int64_t every = options_.sort_every ? *options_.sort_every : 1;
  if (every == 0 || step_ < next_sort_) return;
  next_sort_ = step_ + every;
  all_.sort();
}

imbrex::task<> block::compute_forces(bool wants_energy) {
  {
    const stopwatch timed(facts_.force_ns);
    all_.begin_forces(wants_energy);
  }
  if (model_->embedded) {
    for (int r = 0; r < all_.num_rounds(); ++r) {
      auto slopes_of_ghosts = exchange<&block::slopes>(r, &domain::pack_slopes, &domain::unpack_slopes);
      co_await slopes_of_ghosts;
    }
    const stopwatch timed(facts_.force_ns);
    all_.end_forces();
  }
  if (!model_->sends_forces_back()) co_return;
  for (int r = all_.num_rounds() - 1; r >= 0; --r) {
    auto forces_of_ghosts = exchange<&block::forces, false>(r, &domain::pack_forces, &domain::add_forces);
    co_await forces_of_ghosts;
  }
}

// What has come is used in the order of links, not of arrival: sums, and the places of ghosts, are the same every time.
template <block::slot block::* M, bool to_ghosts>
imbrex::task<> block::exchange(int r, pack_function pack, unpack_function unpack) {
  const auto goes_out = [this](int k) { return to_ghosts ? all_.has_ghosts_there(k) : all_.has_ghosts_here(k); };
  const auto comes = [&](int k) { return goes_out(all_.opposite(k)); };
  const int first = all_.first_link(r), end = all_.first_link(r + 1);
  int num_awaited = 0;
  for (int k = first; k < end; ++k) {
    num_awaited += comes(k) && !all_.is_own(k) ? 1 : 0;
    if (!goes_out(k)) continue;
    std::vector<double>& values = buffers_[static_cast<std::size_t>(k)];
    (all_.*pack)(k, values);
    if (!all_.is_own(k))
      array()[index_of(all_.box_of(k))].template send<M>(key(r), all_.opposite(k), std::move(values));
  }
  for (int k = first; k < end; ++k) {  // to itself: what was packed for the opposite
    if (all_.is_own(k) && k < all_.opposite(k))
      std::swap(buffers_[static_cast<std::size_t>(k)], buffers_[static_cast<std::size_t>(all_.opposite(k))]);
  }
  for (; num_awaited > 0; --num_awaited) {
    auto [k, values] = co_await (this->*M)(key(r));
    buffers_[static_cast<std::size_t>(k)] = std::move(values);
  }
  for (int k = first; k < end; ++k)
    if (comes(k)) (all_.*unpack)(k, buffers_[static_cast<std::size_t>(k)]);
}

imbrex::task<> block::reneighbour() {
  auto moved = exchange_migrants();
  co_await moved;
  {
    const stopwatch timed(facts_.neighbour_ns);
    sort_if_due();
    all_.forget_ghosts();
  }
  for (int r = 0; r < all_.num_rounds(); ++r) {
    {
      const stopwatch timed(facts_.neighbour_ns);
      all_.choose_ghosts(r);
    }
    auto come = exchange<&block::ghosts>(r, &domain::pack_ghosts, &domain::add_ghosts);
    co_await come;
  }
  const stopwatch timed(facts_.neighbour_ns);
  all_.build_lists();
}

imbrex::task<> block::exchange_migrants() {
  std::vector<std::vector<atom_record>> all;
  {
    const stopwatch timed(facts_.neighbour_ns);
    all = all_.take_leavers();
  }
  const auto& around = all_.neighbour_boxes();
  for (std::size_t n = 0; n < around.size(); ++n)
    array()[index_of(around[n])].send<&block::migrants>(step_, model_->boxes.number_of(all_.where()),
                                                        std::move(all[n]));
  for (std::size_t n = 0; n < around.size(); ++n) {
    auto [from, atoms] = co_await migrants(step_);
    all[static_cast<std::size_t>(place_of(all_, model_->boxes.box_at(from)))] = std::move(atoms);
  }
  for (const auto& atoms : all)
    for (const atom_record& a : atoms) all_.add(a);
}

}  // namespace md
