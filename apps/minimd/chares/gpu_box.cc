#include "chares/gpu_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "system/serial_run.h"

namespace md {

gpu_box_job this_gpu_job;

namespace {

constexpr double atoms_of_brick = 0.92 * gpu_brick_threads;  // on average: few have more than there are threads
constexpr std::size_t most_shared_bytes = 227 * 1024;  // of a thread block (compute capability 9.0; 8.0 has 163 KiB)

gpu_bricks bricks_of(const model& m) {
  gpu_bricks b;
  b.reach = m.boxes.reach();
  const double density = static_cast<double>(m.scale.num_atoms) / m.scale.volume;
  const double wanted = std::max(std::cbrt(atoms_of_brick / density), b.reach);
  for (int d = 0; d < 3; ++d) {
    b.length[d] = m.boxes.lengths()[d];
    b.num[d] = std::max(1, static_cast<int>(std::lround(b.length[d] / wanted)));
    while (b.num[d] > 1 && b.length[d] / b.num[d] < b.reach) --b.num[d];
    b.side[d] = b.length[d] / b.num[d];
  }
  return b;
}

std::uint32_t count_of(const model& m) {
  constexpr std::int64_t most = (std::int64_t{1} << gpu_index_bits) - 1;
  if (m.scale.num_atoms > most)
    throw imbrex::usage_error(
        fmt::format("{} atoms are more than the {} that one GPU takes here", m.scale.num_atoms, most));
  return static_cast<std::uint32_t>(m.scale.num_atoms);
}

unsigned with_room(double n) { return (static_cast<unsigned>(n * 1.08) + 8) / 8 * 8; }

}  // namespace

gpu_box::gpu_box()
    : options_(this_gpu_job.setup->given()),
      model_(this_gpu_job.setup->model_of({1, 1, 1})),
      num_(count_of(model_)),
      bricks_(bricks_of(model_)),
      stream_(streams().compute) {
  imbrex::device& d = on_device();
  const auto bricks = static_cast<std::size_t>(bricks_.count());
  for (int k = 0; k < 2; ++k) {
    x_[k] = buffer<vector4>(d, num_);
    v_[k] = buffer<vector4>(d, num_);
    id_[k] = buffer<std::int64_t>(d, num_);
    keys_[k] = buffer<std::uint32_t>(d, num_);
    order_[k] = buffer<std::uint32_t>(d, num_);
  }
  scratch_ = buffer<char>(d, gpu_sort_scratch(num_));
  first_ = buffer<std::uint32_t>(d, bricks + 1);
  num_staged_ = buffer<std::uint32_t>(d, bricks);
  num_neighbours_ = buffer<std::uint16_t>(d, num_);
  found_ = buffer<gpu_findings>(d, 1);
  found_on_host_ = buffer<gpu_findings>(d, 2, imbrex::memory_kind::pinned);
  found_on_host_.data()[1] = {};
  sums_ = buffer<double>(d, 3 * bricks);
  total_ = buffer<double>(d, 3);
  total_on_host_ = buffer<double>(d, 3, imbrex::memory_kind::pinned);
  const double density = num_ / model_.scale.volume, r = bricks_.reach;
  lists_.rows = with_room(1.3 * density * 4.19 * r * r * r + 8);
  double reached = 1;
  for (const double side : bricks_.side) reached *= side + 1.8 * r;
  lists_.stage_capacity = with_room(density * reached);
  make_room_for_lists();
}

imbrex::task<> gpu_box::copy_splines() {
  imbrex::device& d = on_device();
  const embedded_atom& metal = *model_.embedded;
  const spline* const from[3] = {&metal.embedding, &metal.density, &metal.pair};
  gpu_spline* const to[3] = {&metal_.embedding, &metal_.density, &metal_.pair};
  for (int k = 0; k < 3; ++k) {
    const auto& cubics = from[k]->cubics();
    splines_[k] = buffer<spline::coefficients>(d, cubics.size());
    stream_.copy(splines_[k].data(), cubics.data(), cubics.size() * sizeof(spline::coefficients));
    *to[k] = {splines_[k].data(), from[k]->per_step(), from[k]->last()};
  }
  slope_ = buffer<double>(d, num_);
  embedding_ = buffer<double>(d, num_);
  metal_.cutoff_square = metal.cutoff_square;
  metal_.slope = slope_.data();
  metal_.energy = embedding_.data();
  co_await stream_.done();
}

void gpu_box::make_room_for_lists() {
  imbrex::device& d = on_device();
  if (gpu_step_shared(lists_, model_.embedded.has_value()) > most_shared_bytes)
    throw imbrex::error(
        fmt::format("{} atoms are within reach of one brick: too dense for this GPU's shared memory; use "
                    "--device host",
                    lists_.stage_capacity));
  staged_ = buffer<gpu_staged>();
  entries_ = buffer<std::uint16_t>();
  staged_ = buffer<gpu_staged>(d, static_cast<std::size_t>(bricks_.count()) * lists_.stage_capacity);
  entries_ = buffer<std::uint16_t>(d, std::size_t{num_} * lists_.rows);
  lists_.first = first_.data();
  lists_.staged = staged_.data();
  lists_.num_staged = num_staged_.data();
  lists_.entries = entries_.data();
  lists_.num_neighbours = num_neighbours_.data();
}

imbrex::task<> gpu_box::make_atoms() {
  domain all(model_, {0, 0, 0});
  make_whole_system(all, model_, this_gpu_job.setup->initial());
  const atom_arrays& a = all.atoms();
  stream_.copy(x_[0].data(), a.x.data(), num_ * sizeof(vector4));
  stream_.copy(v_[0].data(), a.v.data(), num_ * sizeof(vector4));
  stream_.copy(id_[0].data(), a.id.data(), num_ * sizeof(std::int64_t));
  co_await stream_.done();
}

imbrex::task<> gpu_box::reneighbour() {
  stream_.copy(found_.data(), found_on_host_.data() + 1, sizeof(gpu_findings));
  const gpu_atoms from{x_[now_].data(), v_[0].data(), id_[0].data()},
      to{x_[now_ ^ 1].data(), v_[1].data(), id_[1].data()};
  gpu_place(stream_, bricks_, num_, from, keys_[0].data(), order_[0].data(), found_.data());
  gpu_sort(stream_, bricks_, num_, keys_[0].data(), keys_[1].data(), order_[0].data(), order_[1].data(),
           scratch_.data(), scratch_.size());
  gpu_reorder(stream_, num_, order_[1].data(), from, to);
  std::swap(v_[0], v_[1]);
  std::swap(id_[0], id_[1]);
  now_ ^= 1;
  gpu_find_bricks(stream_, bricks_, num_, keys_[1].data(), first_.data(), found_.data());
  auto built = build_lists();
  co_await built;
}

imbrex::task<> gpu_box::build_lists() {
  for (;;) {
    gpu_build_lists(stream_, bricks_, x_[now_].data(), lists_, found_.data());
    stream_.copy(found_on_host_.data(), found_.data(), sizeof(gpu_findings));
    co_await stream_.done();
    const gpu_findings found = *found_on_host_.data();
    if (found.lost != gpu_findings{}.lost) {
      auto told = refuse_lost(found.lost);
      co_await told;
    }
    if (found.most_staged <= lists_.stage_capacity && found.most_neighbours <= lists_.rows) co_return;
    if (found.most_staged > lists_.stage_capacity) {  // and the lists are those of what had room
      lists_.stage_capacity = with_room(found.most_staged);
    } else {
      lists_.rows = with_room(found.most_neighbours);
    }
    make_room_for_lists();
  }
}

imbrex::task<> gpu_box::refuse_lost(std::uint32_t place) {
  std::int64_t id = 0;
  stream_.copy(&id, id_[1].data() + place, sizeof id);
  co_await stream_.done();
  throw imbrex::error(
      fmt::format("atom {} is lost at step {}: it is more than the whole box away from where it was at the last "
                  "reneighbouring: use a smaller time step",
                  id, step_));
}

void gpu_box::step(bool finishes, bool advances, bool wants_sums) {
  const gpu_step what{.cutoff_square = model_.pairs.cutoff_square,
                      .epsilon = model_.pairs.epsilon,
                      .sigma6 = model_.pairs.sigma6,
                      .half_kick = model_.scale.half_kick(model_.what.dt, model_.mass),
                      .dt = model_.what.dt,
                      .mass = model_.mass,
                      .finishes = finishes,
                      .advances = advances};
  if (model_.embedded) {
    gpu_go_embedded(stream_, bricks_, what, metal_, lists_, x_[now_].data(), x_[now_ ^ 1].data(), v_[0].data(),
                    wants_sums ? sums_.data() : nullptr);
    return;
  }
  gpu_go(stream_, bricks_, what, lists_, x_[now_].data(), x_[now_ ^ 1].data(), v_[0].data(),
         wants_sums ? sums_.data() : nullptr);
}

imbrex::task<> gpu_box::tell_state() {
  gpu_add_sums(stream_, bricks_.count(), sums_.data(), total_.data());
  stream_.copy(total_on_host_.data(), total_.data(), 3 * sizeof(double));
  co_await stream_.done();
  if (began_ns_ == 0) began_ns_ = imbrex::now_ns();
  thermo_sums sums;
  sums.kinetic.add(total_on_host_.data()[0]);
  sums.energy.add(total_on_host_.data()[1]);
  sums.virial.add(total_on_host_.data()[2]);
  contribute(thermo_share{limbs(sums), imbrex::now_ns() - began_ns_}, add_shares{});
}

imbrex::task<> gpu_box::dump(imbrex::element_proxy<collector> dumps) {
  std::vector<vector4> x(num_), v(num_);
  std::vector<std::int64_t> id(num_);
  stream_.copy(x.data(), x_[now_].data(), num_ * sizeof(vector4));
  stream_.copy(v.data(), v_[0].data(), num_ * sizeof(vector4));
  stream_.copy(id.data(), id_[0].data(), num_ * sizeof(std::int64_t));
  co_await stream_.done();
  std::vector<dump_atom> atoms(num_);
  for (std::uint32_t i = 0; i < num_; ++i) atoms[i] = {id[i], 1, {x[i].x, x[i].y, x[i].z}, {v[i].x, v[i].y, v[i].z}};
  dumps.send<&collector::frame>(step_, std::move(atoms));
}

// The kernel of a step finishes that step and begins the next; where velocities are dumped, two kernels do.
imbrex::task<> gpu_box::run(imbrex::element_proxy<collector> dumps) {
  const problem& p = model_.what;
  auto made = make_atoms();
  co_await made;
  if (model_.embedded) {
    auto copied = copy_splines();
    co_await copied;
  }
  auto first_lists = reneighbour();
  co_await first_lists;
  for (;; ++step_) {
    const bool wanted = step_ == 0 || is_thermo_step(p, step_), dumped = is_dump_step(options_, step_);
    const bool last = step_ == p.steps;
    step(step_ > 0, !last && !dumped, wanted);
    if (wanted) {
      auto told = tell_state();
      co_await told;
    }
    if (dumped) {
      auto written = dump(dumps);
      co_await written;
      if (!last) step(false, true, false);
    }
    if (last) break;
    now_ ^= 1;
    if (this_gpu_job.shown != nullptr) this_gpu_job.shown->update(step_);
    if (p.reneighbour_every == 0 || (step_ + 1) % p.reneighbour_every != 0) continue;
    auto lists = reneighbour();
    co_await lists;
  }
  co_await stream_.done();
  block_facts facts;
  facts.atoms = num_;
  facts.bytes = static_cast<std::int64_t>(bytes());
  contribute(facts, add_facts{});
}

std::uint64_t gpu_box::bytes() const {
  std::uint64_t n =
      scratch_.size() + staged_.size() * sizeof(gpu_staged) + entries_.size() * 2 + num_neighbours_.size() * 2;
  for (int k = 0; k < 2; ++k)
    n += (x_[k].size() + v_[k].size()) * sizeof(vector4) + id_[k].size() * 8 + (keys_[k].size() + order_[k].size()) * 4;
  return n;
}

}  // namespace md
