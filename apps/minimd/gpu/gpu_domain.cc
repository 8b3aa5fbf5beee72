#include "gpu/gpu_domain.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/gpu_costs.h"

namespace md {
namespace {

constexpr std::size_t most_shared_bytes = 227 * 1024;  // of a thread block (compute capability 9.0; 8.0 has 163 KiB)
/// Fewer bricks than this take less time than the launch of a kernel of their own.
constexpr std::uint32_t least_inner = 400;
constexpr std::uint32_t most_atoms = (std::uint32_t{1} << gpu_index_bits) - 1;

/// A little more, so that lists are not built twice each time that a few more atoms are near.
unsigned with_room(double n) { return (static_cast<unsigned>(n * 1.08) + 8) / 8 * 8; }

double density_of(const model& m) { return static_cast<double>(m.scale.num_atoms) / m.scale.volume; }

void check_num(std::uint64_t n) {
  if (n > most_atoms)
    throw imbrex::usage_error(
        fmt::format("{} atoms and ghosts are more than the {} that one chare on a GPU takes: use more chares (-c, "
                    "--odf)",
                    n, most_atoms));
}

/// What sorting takes, out of `work`.
struct sort_memory {
  sort_memory(char* work, std::size_t n, std::size_t scratch) : scratch_bytes(scratch) {
    gpu_pieces all(work);
    for (auto& k : keys) k = all.take<std::uint32_t>(n);
    for (auto& o : order) o = all.take<std::uint32_t>(n);
    v = all.take<vector4>(n);
    id = all.take<std::int64_t>(n);
    cub = all.take<char>(scratch);
    bytes = all.taken();
  }
  std::uint32_t* keys[2];
  std::uint32_t* order[2];
  vector4* v;
  std::int64_t* id;
  char* cub;
  std::size_t scratch_bytes, bytes;
};

/// What choosing atoms takes.
struct choice_memory {
  choice_memory(char* work, std::size_t n, std::size_t num_counts) : scratch_bytes(gpu_scan_scratch(num_counts)) {
    gpu_pieces all(work);
    keys = all.take<std::uint32_t>(n);
    order = all.take<std::uint32_t>(n);
    counts = all.take<std::uint32_t>(num_counts);
    cub = all.take<char>(scratch_bytes);
    bytes = all.taken();
  }
  std::size_t scratch_bytes, bytes;
  std::uint32_t *keys, *order, *counts;
  char* cub;
};

}  // namespace

gpu_domain::gpu_domain(const model& m, const box_index& where, imbrex::stream& compute)
    : model_(m),
      around_(m.boxes, where),
      bricks_(bricks_of(m.boxes, where, m.densest)),
      halves_(bricks_),
      compute_(compute),
      on_host_(compute.on(), 1, imbrex::memory_kind::pinned),
      nothing_found_(compute.on(), 1, imbrex::memory_kind::pinned) {
  if (compute.is_simulated()) expected_.emplace(m, where, around_.targets);
  imbrex::device& d = gpu();
  const auto bricks = static_cast<std::size_t>(bricks_.count());
  first_ = buffer<std::uint32_t>(d, bricks + 1);
  num_staged_ = buffer<std::uint32_t>(d, bricks);
  found_ = buffer<found_memory>(d, 1);
  *nothing_found_.data() = {};
  *on_host_.data() = {};
  sums_ = buffer<double>(d, 3 * bricks);
  total_ = buffer<double>(d, 3);
  total_on_host_ = buffer<double>(d, 3, imbrex::memory_kind::pinned);
  const double density = m.densest, r = bricks_.reach;
  lists_.rows = with_room(density * 4.19 * r * r * r + 4);
  double reached = 1;
  for (const double side : bricks_.side) reached *= side + 1.8 * r;
  lists_.stage_capacity = with_room(density * reached);
  lists_.half = m.lists.style == list_style::half;
  if (around_.targets.num > 0) ghost_first_ = buffer<std::uint32_t>(d, bricks_.padded_count() + 1);
  if (!m.embedded && halves_.num_outer > 0 && halves_.num_outer + least_inner < bricks) {
    brick_order_ = buffer<std::uint32_t>(d, bricks);
    compute_.copy(brick_order_.data(), halves_.bricks.data(), bricks * sizeof(std::uint32_t));
  }
}

void gpu_domain::take(const domain& box) {
  const atom_arrays& a = box.atoms();
  const auto there = static_cast<std::uint64_t>(a.num_own);
  check_num(expected_ ? expected_->own : there);
  num_ = expected_ ? expected_->own : static_cast<std::uint32_t>(there);
  // Room for the ghosts of an even density; where there are more, more is made.
  double shell = 1, inside = 1;
  for (int d = 0; d < 3; ++d) {
    const double width = bricks_.hi[d] - bricks_.lo[d];
    inside *= width;
    shell *= width + (bricks_.cut[d] ? 2.0 * bricks_.reach : 0.0);
  }
  const std::size_t own = around_.targets.num > 0 ? num_ + num_ / 32 + 64 : std::max(num_, 1u);
  make_room_for_atoms(own, own + static_cast<std::size_t>(1.05 * (shell - inside) * density_of(model_)));
  if (model_.embedded) copy_splines();
  if (expected_) return;
  compute_.copy(x_[0].data(), a.x.data(), num_ * sizeof(vector4));
  compute_.copy(v_.data(), a.v.data(), num_ * sizeof(vector4));
  compute_.copy(id_.data(), a.id.data(), num_ * sizeof(std::int64_t));
}

void gpu_domain::take_again() {
  make_room_for_atoms(v_.size(), x_[now_].size());
  if (model_.embedded) copy_splines();
}

void gpu_domain::copy_splines() {
  const embedded_atom& metal = *model_.embedded;
  const spline* const from[3] = {&metal.embedding, &metal.density, &metal.pair};
  gpu_spline* const to[3] = {&metal_.embedding, &metal_.density, &metal_.pair};
  for (int k = 0; k < 3; ++k) {
    const auto& cubics = from[k]->cubics();
    splines_[k] = buffer<spline::coefficients>(gpu(), cubics.size());
    compute_.copy(splines_[k].data(), cubics.data(), cubics.size() * sizeof(spline::coefficients));
    *to[k] = {splines_[k].data(), from[k]->per_step(), from[k]->last()};
  }
  metal_.cutoff_square = metal.cutoff_square;
}

// ------------------------------------------------------------------------------------------------ room

/// For so many own atoms, and all; those that are there stay.
void gpu_domain::make_room_for_atoms(std::size_t own, std::size_t all) {
  check_num(all);
  make_room(x_[now_], compute_, all, num_, retired_);
  make_room(x_[now_ ^ 1], gpu(), all, retired_);
  make_room(v_, compute_, own, num_, retired_);
  make_room(id_, compute_, own, num_, retired_);
  make_room(num_neighbours_, gpu(), own, retired_);
  lists_.num_neighbours = num_neighbours_.data();
  if (!model_.embedded) return;
  make_room(slope_, gpu(), all, retired_);
  make_room(embedding_, gpu(), own, retired_);
  metal_.slope = slope_.data();
  metal_.energy = embedding_.data();
}

void gpu_domain::make_room_for_work(std::size_t bytes) { make_room(work_, gpu(), bytes, retired_); }

void gpu_domain::make_room_for_lists() {
  const std::size_t shared =
      gpu_step_shared(lists_, model_.embedded.has_value()) + (lists_.half ? gpu_half_shared(lists_) : 0);
  if (shared > most_shared_bytes)
    throw imbrex::error(
        fmt::format("{} atoms are within reach of one brick: too dense for this GPU's shared memory; use "
                    "--device host",
                    lists_.stage_capacity));
  make_room(staged_, gpu(), static_cast<std::size_t>(bricks_.count()) * lists_.stage_capacity, retired_);
  make_room_for_work(std::size_t{num_} * lists_.rows * sizeof(std::uint16_t));
  if (lists_.half) make_room(own_staged_, gpu(), static_cast<std::size_t>(bricks_.count()), retired_);
  lists_.own_staged = own_staged_.data();
  lists_.first = first_.data();
  lists_.staged = staged_.data();
  lists_.num_staged = num_staged_.data();
  lists_.entries = reinterpret_cast<std::uint16_t*>(work_.data());
  lists_.num_neighbours = num_neighbours_.data();
}

// ------------------------------------------------------------------------------------------------ reneighbouring

void gpu_domain::count(gpu_choice who) {
  const std::size_t num_counts = gpu_counts_of(around_.targets, num_);
  make_room_for_work(choice_memory(nullptr, num_, num_counts).bytes);
  const choice_memory m(work_.data(), num_, num_counts);
  if (who == gpu_choice::leavers) {
    compute_.copy(found_.data(), nothing_found_.data(), sizeof(found_memory));
    compute_.expect(costs::move(num_));
    gpu_place(compute_, bricks_, 0, num_, false, atoms(), m.keys, m.order, &found_.data()->found);
  }
  compute_.expect(costs::look(num_));
  gpu_count(compute_, bricks_, around_.targets, who, num_, x_[now_].data(), m.counts, m.cub, m.scratch_bytes,
            found_.data()->first);
  compute_.copy(on_host_.data(), found_.data(), sizeof(found_memory));
  chosen_ = {m.counts, m.keys};  // whose memory is free again
}

void gpu_domain::find_leavers() { count(gpu_choice::leavers); }

void gpu_domain::leavers_found(std::int64_t step) {
  retired_.release();
  refuse_lost(step);
  const std::uint32_t* const from = expected_ ? expected_->leavers.data() : on_host_.data()->first;
  std::copy_n(from, around_.targets.num + 1, leavers_);
}

void gpu_domain::refuse_lost(std::int64_t step) const {
  const unsigned long long id = on_host_.data()->found.lost;
  if (id == gpu_findings{}.lost) return;
  throw imbrex::error(
      fmt::format("atom {} is lost at step {}: since the last reneighbouring it has gone further than the boxes around "
                  "its own, or is nowhere: reneighbour more often, or use a smaller time step",
                  id, step));
}

void gpu_domain::pack_leavers(gpu_mover* out) {
  compute_.expect(costs::look(num_));
  gpu_choose(compute_, bricks_, around_.targets, gpu_choice::leavers, num_, x_[now_].data(), chosen_);
  gpu_pack_movers(compute_, bricks_, num_leavers(), chosen_.atoms, atoms(), out);
}

void gpu_domain::sort(const gpu_messages<gpu_mover>& arrivals) {
  const std::uint32_t all = num_ + arrivals.count();
  make_room_for_atoms(all, all);
  gpu_unpack(compute_, arrivals, num_, atoms());
  const std::size_t scratch = gpu_sort_scratch(std::max(all, 1u));
  make_room_for_work(sort_memory(nullptr, all, scratch).bytes);
  const sort_memory m(work_.data(), all, scratch);
  if (around_.targets.num == 0) compute_.copy(found_.data(), nothing_found_.data(), sizeof(found_memory));
  gpu_findings* const found = &found_.data()->found;
  compute_.expect(costs::move(num_));
  gpu_place(compute_, bricks_, 0, num_, false, atoms(), m.keys[0], m.order[0], found);
  gpu_place(compute_, bricks_, num_, all, true, atoms(), m.keys[0], m.order[0], found);
  compute_.expect(costs::sort(all));
  gpu_sort(compute_, gpu_last_key(bricks_), all, m.keys[0], m.keys[1], m.order[0], m.order[1], m.cub, m.scratch_bytes);
  compute_.copy(m.v, v_.data(), all * sizeof(vector4));
  compute_.copy(m.id, id_.data(), all * sizeof(std::int64_t));
  num_ = all - num_leavers();
  compute_.expect(costs::move(num_));
  gpu_reorder(compute_, num_, m.order[1], {x_[now_].data(), m.v, m.id}, {x_[now_ ^ 1].data(), v_.data(), id_.data()});
  now_ ^= 1;
  gpu_find_bricks(compute_, bricks_, all, m.keys[1], first_.data(), found);
  std::ranges::fill(leavers_, 0u);
}

void gpu_domain::find_ghosts() { count(gpu_choice::ghosts); }

void gpu_domain::choose_ghosts(std::uint32_t num_ghosts) {
  retired_.release();
  num_ghosts_ = num_ghosts;
  make_room_for_atoms(num_, std::size_t{num_} + num_ghosts);
  make_room(sent_, gpu(), num_sent(), retired_);
  chosen_.atoms = sent_.data();
  compute_.expect(costs::look(num_));
  gpu_choose(compute_, bricks_, around_.targets, gpu_choice::ghosts, num_, x_[now_].data(), chosen_);
}

void gpu_domain::sort_ghosts() {
  if (around_.targets.num == 0) return;
  make_room(ghost_order_, gpu(), std::max(num_ghosts_, 1u), retired_);
  const std::size_t scratch = gpu_sort_scratch(std::max(num_ghosts_, 1u));
  make_room_for_work(sort_memory(nullptr, num_ghosts_, scratch).bytes);
  const sort_memory m(work_.data(), num_ghosts_, scratch);
  gpu_place_ghosts(compute_, bricks_, num_ghosts_, ghosts(), m.keys[0], m.order[0]);
  compute_.expect(costs::sort(num_ghosts_));
  gpu_sort(compute_, gpu_last_ghost_key(bricks_), num_ghosts_, m.keys[0], m.keys[1], m.order[0], ghost_order_.data(),
           m.cub, m.scratch_bytes);
  gpu_find_ghost_bricks(compute_, bricks_, num_ghosts_, m.keys[1], ghost_first_.data());
}

void gpu_domain::build_lists() {
  sort_ghosts();
  make_room_for_lists();
  compute_.expect(costs::lists(model_, num_));
  gpu_build_lists(compute_, bricks_, x_[now_].data(), num_, {ghost_first_.data(), ghost_order_.data()}, lists_,
                  &found_.data()->found);
  compute_.copy(on_host_.data(), found_.data(), sizeof(found_memory));
}

bool gpu_domain::lists_are_whole(std::int64_t step) {
  retired_.release();
  if (expected_) return true;
  refuse_lost(step);
  const gpu_findings& found = on_host_.data()->found;
  lists_.most_in_brick = found.most_in_brick;
  if (found.most_staged > lists_.stage_capacity) {  // and the lists are those of what had room
    lists_.stage_capacity = with_room(found.most_staged);
    return false;
  }
  if (found.most_neighbours <= lists_.rows) return true;
  lists_.rows = with_room(found.most_neighbours);
  return false;
}

// ------------------------------------------------------------------------------------------------ a step

void gpu_domain::pack_positions(vector4* out, imbrex::stream& s) {
  gpu_pack_positions(s, bricks_, num_sent(), sent_.data(), x_[now_].data(), out);
}

void gpu_domain::pack_slopes(double* out, imbrex::stream& s) {
  gpu_pack_slopes(s, num_sent(), sent_.data(), slope_.data(), out);
}

void gpu_domain::expect_step(imbrex::stream& s, std::uint32_t bricks) const {
  s.expect(costs::step(model_, std::uint64_t{num_} * bricks / static_cast<std::uint64_t>(bricks_.count())));
}

void gpu_domain::embed() {
  expect_step(compute_, static_cast<std::uint32_t>(bricks_.count()));
  gpu_embed(compute_, bricks_, metal_, lists_, x_[now_].data());
}

gpu_step gpu_domain::step_of(bool finishes, bool advances) const {
  return {.cutoff_square = model_.pairs.cutoff_square,
          .epsilon = model_.pairs.epsilon,
          .sigma6 = model_.pairs.sigma6,
          .half_kick = model_.scale.half_kick(model_.what.dt, model_.mass),
          .dt = model_.what.dt,
          .mass = model_.mass,
          .finishes = finishes,
          .advances = advances,
          .single = model_.what.single};
}

void gpu_domain::compute_some(imbrex::stream& s, const gpu_brick_range& which) {
  expect_step(s, which.num);
  gpu_go(s, bricks_, which, step_of(true, true), lists_, x_[now_].data(), x_[now_ ^ 1].data(), v_.data(), nullptr);
}

void gpu_domain::step_outer(imbrex::stream& s) { compute_some(s, {brick_order_.data(), halves_.num_outer}); }

void gpu_domain::step_inner() {
  const auto all = static_cast<std::uint32_t>(bricks_.count());
  compute_some(compute_, {brick_order_.data() + halves_.num_outer, all - halves_.num_outer});
}

void gpu_domain::step(bool finishes, bool advances, bool wants_sums) {
  const gpu_step what = step_of(finishes, advances);
  const vector4* const x = x_[now_].data();
  vector4* const next = x_[now_ ^ 1].data();
  double* const sums = wants_sums ? sums_.data() : nullptr;
  const gpu_brick_range all{nullptr, static_cast<std::uint32_t>(bricks_.count())};
  expect_step(compute_, all.num);
  model_.embedded ? gpu_go_embedded(compute_, bricks_, what, metal_, lists_, x, next, v_.data(), sums)
                  : gpu_go(compute_, bricks_, all, what, lists_, x, next, v_.data(), sums);
}

const double* gpu_domain::copy_sums() {
  gpu_add_sums(compute_, bricks_.count(), sums_.data(), total_.data());
  compute_.copy(total_on_host_.data(), total_.data(), 3 * sizeof(double));
  return total_on_host_.data();
}

void gpu_domain::copy_atoms() {
  x_on_host_.resize(num_);
  v_on_host_.resize(num_);
  id_on_host_.resize(num_);
  compute_.copy(x_on_host_.data(), x_[now_].data(), num_ * sizeof(vector4));
  compute_.copy(v_on_host_.data(), v_.data(), num_ * sizeof(vector4));
  compute_.copy(id_on_host_.data(), id_.data(), num_ * sizeof(std::int64_t));
}

std::vector<dump_atom> gpu_domain::dump_atoms() const {
  std::vector<dump_atom> atoms(id_on_host_.size());
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const vector4 &x = x_on_host_[i], &v = v_on_host_[i];
    atoms[i] = {id_on_host_[i], 1, {x.x, x.y, x.z}, {v.x, v.y, v.z}};
  }
  return atoms;
}

std::uint64_t gpu_domain::bytes() const {
  const auto of = [](const auto& b) { return b.size() * sizeof(*b.data()); };
  std::uint64_t n = of(x_[0]) + of(x_[1]) + of(v_) + of(id_) + of(first_) + of(num_staged_) + of(staged_) + of(sent_) +
                    of(num_neighbours_) + of(own_staged_) + of(work_) + of(ghost_first_) + of(ghost_order_) +
                    of(brick_order_) + of(sums_) + of(slope_) + of(embedding_);
  for (const auto& s : splines_) n += of(s);
  return n;
}

}  // namespace md
