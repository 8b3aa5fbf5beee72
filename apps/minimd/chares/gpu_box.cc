#include "chares/gpu_box.h"

#include <fmt/format.h>

#include "chares/shared_model.h"
#include "system/initial_state.h"

namespace md {

gpu_box_job this_gpu_job;

namespace {

constexpr int ports_of_halo = most_gpu_targets;

std::vector<std::size_t> sizes_of(const std::vector<std::uint32_t>& counts) { return {counts.begin(), counts.end()}; }

}  // namespace

gpu_box::gpu_box()
    : options_(this_gpu_job.setup->given()),
      model_(shared_model(*this_gpu_job.setup, box_of(extent()))),
      where_(box_of(index())),
      streams_(apps::gpu_streams::of(options_.streams, on_device(),
                                     fmt::format("box {}, {}, {}", where_[0], where_[1], where_[2]))),
      all_(*model_, where_, *streams_.compute),
      path_(options_.halos.value_or(apps::halo_path::device)),
      movers_(gpu_halo<gpu_mover>(*this, model_->boxes, where_, all_.around(), 0, path_)),
      positions_(gpu_halo<vector4>(*this, model_->boxes, where_, all_.around(), ports_of_halo, path_)),
      slopes_(gpu_halo<double>(*this, model_->boxes, where_, all_.around(), 2 * ports_of_halo, path_)) {
  if (options_.streams == apps::stream_design::device) pin();
}

void gpu_box::make() {
  at_start_.emplace(*model_, where_);
  if (!all_.is_expected()) add_initial_atoms(*at_start_, *model_, this_gpu_job.setup->initial());
  apps::exact_sum sums[3];
  at_start_->sum_velocities(sums);
  contribute(limbs<3>({&sums[0], &sums[1], &sums[2]}), imbrex::sum);
}

void gpu_box::shift_velocities(vector3 by) {
  at_start_->shift_velocities(by);
  apps::exact_sum sum;
  at_start_->sum_kinetic(sum);
  contribute(limbs<1>({&sum}), imbrex::sum);
}

void gpu_box::scale_velocities(double by) { at_start_->scale_velocities(by); }

// ------------------------------------------------------------------------------------------------ reneighbouring

imbrex::task<std::vector<std::uint32_t>> gpu_box::exchange_counts(std::vector<std::uint32_t> out, std::int64_t key) {
  const auto& around = all_.around().boxes;
  for (std::size_t p = 0; p < around.size(); ++p) {
    const box_index& b = around[p];
    const int here = gpu_around(model_->boxes, b).place_of(where_);
    array()[index_of(b)].send<&gpu_box::coming>(key, here, out[p]);
  }
  std::vector<std::uint32_t> in(around.size());
  for (std::size_t p = 0; p < around.size(); ++p) {
    const auto [from, n] = co_await coming(key);
    in[static_cast<std::size_t>(from)] = n;
  }
  co_return in;
}

imbrex::task<> gpu_box::exchange_movers() {
  all_.find_leavers();
  co_await streams_.compute->done();
  all_.leavers_found(step_);
  std::vector<std::uint32_t> out(all_.around().boxes.size());
  for (std::size_t p = 0; p < out.size(); ++p) out[p] = all_.num_leavers(static_cast<int>(p));
  auto counted = exchange_counts(out, 2 * num_reneighbourings_);
  std::vector<std::uint32_t> in = co_await counted;
  movers_.expect(sizes_of(out), sizes_of(in));
  auto begun = movers_.begin(*streams_.pack);
  co_await begun;
  streams_.compute->after(*streams_.pack);  // in whose order the memory was given back
  all_.pack_leavers(movers_.out().data);
  streams_.pack->after(*streams_.compute);
  const auto sort = [this](const gpu_messages<gpu_mover>& m) {
    streams_.compute->after(*streams_.unpack);
    all_.sort(m);
    streams_.unpack->after(*streams_.compute);  // which reads what has come
  };
  auto exchanged = md::exchange(&movers_, path_, &streams_, sort);
  co_await exchanged;
}

imbrex::task<> gpu_box::exchange_ghosts() {
  all_.find_ghosts();
  co_await streams_.compute->done();
  std::vector<std::uint32_t> out(all_.around().boxes.size());
  for (std::size_t p = 0; p < out.size(); ++p) out[p] = all_.num_sent(static_cast<int>(p));
  auto counted = exchange_counts(out, 2 * num_reneighbourings_ + 1);
  std::vector<std::uint32_t> in = co_await counted;
  std::uint32_t num_ghosts = 0;
  for (const std::uint32_t n : in) num_ghosts += n;
  all_.choose_ghosts(num_ghosts);
  slopes_.expect(sizes_of(out), sizes_of(in));
  positions_.expect(sizes_of(out), sizes_of(in));
  read_ = streams_.compute->record();
  auto moved = exchange_positions();
  co_await moved;
}

imbrex::task<> gpu_box::reneighbour() {
  if (all_.around().boxes.empty()) {
    all_.sort({});
  } else {
    auto moved = exchange_movers();
    co_await moved;
    auto ghosts = exchange_ghosts();
    co_await ghosts;
  }
  ++num_reneighbourings_;
  join_streams();
  do {
    all_.build_lists();
    co_await streams_.compute->done();
  } while (!all_.lists_are_whole(step_));
}

// ------------------------------------------------------------------------------------------------ each step

template <class T>
imbrex::task<> gpu_box::exchange(imbrex::halo<T>* halo, void (gpu_domain::*pack)(T*, imbrex::stream&),
                                 T* (gpu_domain::*ghosts)()) {
  if (all_.around().boxes.empty()) co_return;
  auto begun = halo->begin(*streams_.pack);
  co_await begun;
  streams_.pack->after(*streams_.compute);
  (all_.*pack)(halo->out().data, *streams_.pack);
  const auto unpack = [this, ghosts](const gpu_messages<T>& m) {
    streams_.unpack->wait(read_);
    gpu_unpack(*streams_.unpack, m, (all_.*ghosts)());
  };
  auto exchanged = md::exchange(halo, path_, &streams_, unpack);
  co_await exchanged;
}

void gpu_box::join_streams() {
  if (all_.around().boxes.empty()) return;
  streams_.compute->after(*streams_.unpack);
  streams_.compute->after(*streams_.pack);  // before what was packed is overwritten
}

imbrex::task<> gpu_box::exchange_positions() {
  return exchange(&positions_, &gpu_domain::pack_positions, &gpu_domain::ghosts);
}

imbrex::task<> gpu_box::exchange_slopes() {
  return exchange(&slopes_, &gpu_domain::pack_slopes, &gpu_domain::ghost_slopes);
}

imbrex::task<> gpu_box::step(bool finishes, bool advances, bool wants_sums) {
  join_streams();
  if (model_->embedded) {
    all_.embed();
    auto exchanged = exchange_slopes();
    co_await exchanged;
    join_streams();
  }
  all_.step(finishes, advances, wants_sums);
}

// The outer bricks are first in a stream of high priority, the inner ones fill the GPU up and go on while messages are
// on their way. Each half reads what both have written in the step before, but only the outer one what has come.
imbrex::task<> gpu_box::step_while_exchanging() {
  auto begun = positions_.begin(*streams_.pack);
  co_await begun;
  streams_.pack->after(*streams_.unpack);
  streams_.pack->after(*streams_.compute);
  streams_.compute->wait(outer_);
  all_.step_outer(*streams_.pack);
  const imbrex::event computed = streams_.pack->record();
  all_.step_inner();
  all_.advance();
  all_.pack_positions(positions_.out().data, *streams_.pack);
  const auto unpack = [this](const gpu_messages<vector4>& m) {
    streams_.unpack->wait(read_);
    gpu_unpack(*streams_.unpack, m, all_.ghosts());
  };
  auto exchanged = md::exchange(&positions_, path_, &streams_, unpack);
  co_await exchanged;
  read_ = outer_ = computed;
}

imbrex::task<> gpu_box::tell_state() {
  const double* const total = all_.copy_sums();
  co_await streams_.compute->done();
  if (began_ns_ == 0) began_ns_ = apps::pe_time_ns();
  thermo_sums sums;
  sums.kinetic.add(total[0]);
  sums.energy.add(total[1]);
  sums.virial.add(total[2]);
  contribute(thermo_share{limbs(sums), apps::pe_time_ns() - began_ns_}, add_shares{});
}

imbrex::task<> gpu_box::dump() {
  all_.copy_atoms();
  co_await streams_.compute->done();
  dumps_.send<&collector::frame>(step_, all_.dump_atoms());
}

imbrex::task<> gpu_box::begin() {
  if (is_half_way_) {
    all_.take_again();
    ++step_;
  } else {
    all_.take(*at_start_);
  }
  co_await streams_.compute->done();
  at_start_.reset();
  is_half_way_ = false;
  auto first_lists = reneighbour();
  co_await first_lists;
}

// The kernel of a step finishes that step and begins the next; where velocities are dumped, two kernels do.
imbrex::task<> gpu_box::run() {
  const problem& p = model_->what;
  auto begun = begin();
  co_await begun;
  for (;; ++step_) {
    if (this_gpu_job.shown != nullptr && is_first()) this_gpu_job.shown->update(step_);
    const bool wanted = step_ == 0 || is_thermo_step(p, step_), dumped = is_dump_step(options_, step_);
    const bool last = step_ == p.steps;
    const bool sorts = p.reneighbour_every != 0 && (step_ + 1) % p.reneighbour_every == 0;
    if (!wanted && !dumped && !last && !sorts && all_.has_inner()) {
      auto both = step_while_exchanging();
      co_await both;
      continue;
    }
    auto stepped = step(step_ > 0, !last && !dumped, wanted);
    co_await stepped;
    if (wanted) {
      auto told = tell_state();
      co_await told;
    }
    if (dumped) {
      auto written = dump();
      co_await written;
      if (!last) {
        auto again = step(false, true, false);
        co_await again;
      }
    }
    if (last) break;
    all_.advance();
    if (sorts) {
      co_await imbrex::checkpoint_point(*this);
      co_await imbrex::move_point(*this);
      auto lists = reneighbour();
      co_await lists;
    } else {
      auto exchanged = exchange_positions();
      co_await exchanged;
    }
    read_ = streams_.compute->record();
  }
  co_await streams_.compute->done();
  block_facts facts;
  facts.atoms = all_.num_atoms();
  facts.bytes = static_cast<std::int64_t>(all_.bytes());
  contribute(facts, add_facts{});
}

}  // namespace md
