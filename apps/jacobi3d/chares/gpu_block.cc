#include "chares/gpu_block.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "chares/chare_block.h"
#include "chares/gpu_initial_state.h"
#include "field/field_output.h"
#include "field/serial_reference.h"
#include "kernels/gpu_planes.h"
#include "stopping_rule.h"
#include "uneven_load.h"

namespace jacobi {

namespace {

constexpr std::int64_t steps_between_looks = 4;     // at how far the GPU has come
constexpr std::int64_t most_repeated_steps = 5000;  // after which the progress is shown

struct any_outcome {
  void operator()(repeat_outcome&, repeat_outcome&&) const {}
};

/// The kernel that does all counts the cells of planes and faces by 32 bits.
void check_faces(const gpu_layout& layout) {
  std::int64_t most = layout.plane;
  for (const face f : all_faces) most = std::max(most, face_cells(layout.size, f));
  if (most <= INT32_MAX) return;
  throw imbrex::usage_error(fmt::format(
      "a face of a block has {} cells with its padding, and --fusion C and D count to {}: use more chares (--odf), or "
      "--fusion B",
      most, INT32_MAX));
}

std::size_t number(face f) { return static_cast<std::size_t>(f); }

}  // namespace

std::uint64_t gpu_bytes_of_block(extents size, const gpu_strategy& how) {
  const gpu_layout layout = gpu_layout::of(size, size, how.steps);
  std::int64_t doubles = 2 * layout.doubles();
  const int num_buffers = how.halos == halo_path::host ? 4 : 2;  // outgoing ones, and what comes by way of the host
  if (how.steps > 1) {
    doubles += num_buffers * gpu_deep_steps::halo_doubles(layout);
  } else if (!how.resident) {
    for (const face f : all_faces) doubles += num_buffers * face_cells(size, f);
  }
  return static_cast<std::uint64_t>(doubles) * sizeof(double);
}

gpu_block::gpu_block()
    : options_(*this_job.given),
      strategy_(gpu_strategy::of(options_, rt())),
      has_points_(rt().options().checkpoint.at_points()),
      blocks_(options_.grid, extent().x, extent().y, extent().z),
      position_{index().x, index().y, index().z},
      cells_(blocks_.cells(position_)),
      layout_(gpu_layout::of(cells_.size, blocks_.cells({0, 0, 0}).size,  // no block is larger than the first
                             strategy_.steps)),
      ends_{blocks_.cx() == 1 && !options_.boundary.periodic, options_.boundary.value},
      streams_(gpu_streams::of(strategy_.streams, on_device(),
                               fmt::format("block[{},{},{}]", position_.x, position_.y, position_.z))),
      faces_(imbrex::memory_kind::device, strategy_.fusion == fusion_strategy::d ? halo_path::store : strategy_.halos) {
  if (strategy_.streams == stream_design::device) pin();  // the other chares' streams know this PE
  if (is_one_kernel()) check_faces(layout_);
  const auto doubles = static_cast<std::size_t>(layout_.doubles());
  for (auto& f : fields_) f = imbrex::buffer<double>(on_device(), doubles);
  if (strategy_.steps > 1) {
    deep_.emplace(*this, options_, layout_);
    return;
  }
  if (strategy_.resident) {
    resident_.emplace(index(), extent(), options_, layout_);
    return;
  }
  for (const face f : all_faces) {
    const auto n = blocks_.neighbour(position_, f, options_.boundary.periodic);
    if (!n) continue;
    neighbours_.push_back(f);
    faces_.connect(*this, array()[imbrex::index3d{n->x, n->y, n->z}], static_cast<int>(f),
                   static_cast<int>(opposite(f)), static_cast<std::size_t>(face_cells(cells_.size, f)));
  }
}

// ------------------------------------------------------------------------------------------------ one iteration

face_buffers gpu_block::outgoing() {
  face_buffers out{};
  int i = 0;
  for (const face f : neighbours_) out[number(f)] = faces_.out(i++).data;
  return out;
}

const_face_buffers gpu_block::incoming() {
  const_face_buffers in{};
  int i = 0;
  for (const face f : neighbours_) in[number(f)] = faces_.in(i++).data;
  return in;
}

void gpu_block::pack() {
  const face_buffers out = outgoing();
  if (strategy_.fusion == fusion_strategy::none) {
    for (const face f : neighbours_) gpu_pack(*streams_.pack, layout_, current(), f, out[number(f)]);
  } else {
    gpu_pack_all(*streams_.pack, layout_, current(), out);
  }
}

/// Unpacks (each face alone or all at once), updates; with fusion C and D, and always in a graph, also packs the new
/// faces.
void gpu_block::enqueue_kernels(const const_face_buffers& halos, bool one_stream) {
  imbrex::stream& unpack = one_stream ? *streams_.compute : *streams_.unpack;
  imbrex::stream& compute = *streams_.compute;
  if (is_one_kernel()) {
    gpu_update_fused(compute, layout_, options_.formula, ends_, current(), next(), halos, outgoing(), parity_ != 0);
    return;
  }
  if (strategy_.fusion == fusion_strategy::b) {
    gpu_unpack_all(unpack, layout_, current(), halos);
  } else {
    for (const face f : neighbours_) gpu_unpack(unpack, layout_, current(), f, halos[number(f)]);
  }
  if (!one_stream) compute.after(unpack);
  gpu_update(compute, layout_, options_.formula, ends_, current(), next(), parity_ != 0);
  if (!one_stream) return;
  const face_buffers out = outgoing();
  if (strategy_.fusion == fusion_strategy::none) {
    for (const face f : neighbours_) gpu_pack(compute, layout_, next(), f, out[number(f)]);
  } else {
    gpu_pack_all(compute, layout_, next(), out);
  }
}

/// The 2022 paper's two alternating graphs (III-D2): one for each parity, captured when it is first used.
void gpu_block::run_graph(const const_face_buffers& halos) {
  auto& g = graphs_[static_cast<std::size_t>(parity_)];
  if (g == nullptr) g = streams_.compute->capture([&] { enqueue_kernels(halos, true); });
  streams_.compute->run(*g);
}

void gpu_block::update(const const_face_buffers& halos) {
  if (strategy_.graph && !repeats()) return run_graph(halos);
  const int num_passes = passes_of(options_, imbrex::linear(index(), extent()), imbrex::volume(extent()), enqueued_);
  for (int pass = 0; pass < num_passes; ++pass) enqueue_kernels(halos, false);
}

imbrex::task<> gpu_block::one_iteration() {
  const bool by_host = strategy_.halos == halo_path::host;
  imbrex::stream& packing = packed_ ? *streams_.compute : *streams_.pack;
  imbrex::stream& reading = packs_by_compute() ? *streams_.compute : *streams_.unpack;
  imbrex::stream& sending = by_host ? *streams_.to_host : packing;
  imbrex::stream& receiving = by_host ? *streams_.to_device : reading;
  if (!packed_) {
    if (!faces_.is_begun()) {
      auto begun = faces_.begin(packing);
      co_await begun;
    }
    packing.after(*streams_.compute);
    pack();
  }
  if (by_host) sending.after(packing);
  faces_.send(sending);
  auto received = faces_.receive(receiving);
  co_await received;  // another block runs meanwhile
  if (by_host) reading.after(receiving);
  packed_ = packs_by_compute();
  if (packed_) {
    auto begun = faces_.begin(*streams_.compute);
    co_await begun;
  }
  update(incoming());
  faces_.release(reading);
  parity_ ^= 1;
  ++enqueued_;
}

imbrex::task<> gpu_block::round(int) { return one_iteration(); }

std::int64_t gpu_block::steps_within(std::int64_t most) const {
  if (repeats()) return std::min(most, most_repeated_steps);
  const std::int64_t steps = std::min<std::int64_t>(options_.steps, most);
  return options_.balance_every > 0 ? std::min(steps, options_.balance_every - enqueued_ % options_.balance_every)
                                    : steps;
}

imbrex::task<> gpu_block::advance(std::int64_t steps, bool keeps_previous) {
  const std::array<double*, 2> fields{fields_[0].data(), fields_[1].data()};
  if (resident_) {
    resident_->enqueue(*streams_.compute, fields, parity_, static_cast<int>(steps), keeps_previous);
    co_await ahead_.step(*streams_.compute);
    co_return;
  }
  if (repeats()) {
    auto all = imbrex::repeat(*this, static_cast<int>(steps), &gpu_block::round);
    co_await all;
    co_return;
  }
  if (!deep_) {
    auto one = one_iteration();
    co_await one;
    if (enqueued_ % steps_between_looks == 0) co_await ahead_.step(*streams_.compute);
    co_return;
  }
  auto several = deep_->advance(streams_.compute, fields, &parity_, static_cast<int>(steps), keeps_previous);
  co_await several;
  enqueued_ += steps;
  co_await ahead_.step(*streams_.compute);
}

// ------------------------------------------------------------------------------------------------ a repeat

imbrex::task<> gpu_block::set_initial_state() {
  const auto now = static_cast<std::size_t>(parity_);
  gpu_initial_state state(*streams_.compute, layout_, fields_[now].data(), fields_[now ^ 1].data(), cells_, options_);
  while (state.enqueue_part()) co_await streams_.compute->done();
}

imbrex::task<> gpu_block::prepare(std::int64_t done_before) {
  std::string failure;
  try {
    if (resident_) {
      auto connected = resident_->connect(*this);
      co_await connected;
    }
    co_await set_initial_state();
  } catch (const imbrex::usage_error& e) {
    failure = e.what();
  }
  packed_ = false;
  reached_ = 0;
  outcome_ = {};
  const std::string failures = co_await allreduce(failure, imbrex::concatenate);
  if (failures.empty()) {
    for (std::int64_t done = 0; done < options_.warm_up;) {
      const std::int64_t steps = steps_within(options_.warm_up - done);
      auto advanced = advance(steps, false);
      co_await advanced;
      done += steps;
      if (balances_after(options_, enqueued_)) {
        auto balanced = balance_when_idle();
        co_await balanced;
      }
      if (this_job.shown != nullptr && is_first()) this_job.shown->update(done_before + done);
    }
    co_await streams_.compute->done();
  }
  contribute(failure, imbrex::concatenate);
}

imbrex::task<apps::exact_sum::limb_array> gpu_block::squared_changes() {
  imbrex::stream& s = *streams_.compute;
  imbrex::buffer<long long> on_gpu(on_device(), apps::exact_sum::num_limbs);
  imbrex::buffer<long long> on_host(on_device(), apps::exact_sum::num_limbs, imbrex::memory_kind::pinned);
  s.fill(on_gpu.data(), 0, apps::exact_sum::num_limbs * sizeof(long long));
  gpu_change(s, layout_, next(), current(), on_gpu.data());  // the field before stands where the next one will
  imbrex::copy(on_host.view(), imbrex::buffer_view<const long long>(on_gpu), s);
  co_await s.done();
  apps::exact_sum::limb_array limbs{};
  std::copy_n(on_host.data(), apps::exact_sum::num_limbs, limbs.begin());
  co_return apps::exact_sum(limbs).limbs();
}

void gpu_block::iterate(std::int64_t done_before) {
  shown_before_ = done_before;
  outcome_.done_before = reached_;
  array()[index()].send<&gpu_block::iterate_on>();
}

// What goes to another GPU is read there anew, so nothing is to be under way.
imbrex::task<> gpu_block::balance_when_idle() {
  const std::array<imbrex::stream*, 5> all{streams_.pack, streams_.unpack, streams_.to_host, streams_.to_device,
                                           streams_.compute};
  for (imbrex::stream* const s : all) co_await s->done();
  co_await imbrex::balance(*this);
}

imbrex::task<> gpu_block::iterate_on() {
  const stopping_rule rule(options_.tolerance, options_.check_every, options_.iterations);
  if (std::exchange(lacks_next_, false)) {
    streams_.compute->copy(next(), current(), fields_[0].size() * sizeof(double));
  }
  while (reached_ < rule.limit() && !outcome_.converged) {
    // The next iteration whose change is looked at, or after which there may be a checkpoint, is the last of its pass.
    std::int64_t until = rule.limit();
    if (!repeats() || has_points_)
      until = std::min(until, (reached_ / options_.point_every + 1) * options_.point_every);
    if (options_.tolerance) until = std::min(until, (reached_ / options_.check_every + 1) * options_.check_every);
    const std::int64_t steps = steps_within(until - reached_), k = reached_ += steps;
    if (rule.consumed_before(k)) {
      auto sum = co_await changes(consumed_++);
      outcome_.norm = std::sqrt(apps::exact_sum(std::get<0>(sum)).to_double());
      outcome_.has_norm = true;
      outcome_.converged = rule.met(outcome_.norm);
    }
    auto advanced = advance(steps, rule.is_check(k));
    co_await advanced;
    if (rule.is_check(k) && !outcome_.converged) {
      auto changed = squared_changes();
      const apps::exact_sum::limb_array limbs = co_await changed;
      contribute(limbs, imbrex::sum, imbrex::deliver<&gpu_block::changes>(array(), checks_++));
    }
    if (this_job.shown != nullptr && is_first()) this_job.shown->update(shown_before_ + k);
    if (balances_after(options_, enqueued_)) {
      auto balanced = balance_when_idle();
      co_await balanced;
    }
    if (k % options_.point_every == 0) co_await imbrex::checkpoint_point(*this);
  }
  co_await streams_.compute->done();
  outcome_.iterations = reached_;
  contribute(outcome_, any_outcome{});
}

// ------------------------------------------------------------------------------------------------ results

imbrex::task<> gpu_block::hash() {
  imbrex::stream& s = *streams_.compute;
  imbrex::buffer<unsigned long long> on_gpu(on_device(), 1);
  imbrex::buffer<unsigned long long> on_host(on_device(), 1, imbrex::memory_kind::pinned);
  s.fill(on_gpu.data(), 0, sizeof(unsigned long long));
  gpu_hash(s, layout_, current(), options_.grid, cells_, on_gpu.data());
  imbrex::copy(on_host.view(), imbrex::buffer_view<const unsigned long long>(on_gpu), s);
  co_await s.done();
  contribute(static_cast<std::uint64_t>(*on_host.data()), imbrex::sum);
}

imbrex::task<std::vector<double>> gpu_block::download() {
  imbrex::stream& s = *streams_.compute;
  const extents n = cells_.size;
  std::vector<double> dense(static_cast<std::size_t>(n.cells()));
  const staged_planes staged(on_device(), layout_);
  for (std::int64_t z = 0; z < n.nz; z += staged.count()) {
    const std::int64_t planes = std::min(staged.count(), n.nz - z);
    for (std::int64_t k = 0; k < planes; ++k) staged.download(s, k, current(), z + k);
    co_await s.done();
    staged.unpack(planes, dense.data() + z * n.ny * n.nx);
  }
  co_return dense;
}

imbrex::task<> gpu_block::write(std::string suffix) {
  std::string failure;
  auto downloaded = download();
  const std::vector<double> dense = co_await downloaded;
  try {
    field_outputs(options_.outputs, blocks_, suffix).write(position_, dense.data(), cells_.size.nx);
  } catch (const std::exception& e) {
    failure = std::string(e.what()) + "\n";
  }
  contribute(failure, imbrex::concatenate);
}

imbrex::task<verification> gpu_block::compare(std::vector<double> expected) {
  auto downloaded = download();
  const std::vector<double> dense = co_await downloaded;
  co_return compare_block(cells_.size, dense.data(), cells_.size.nx, expected.data());
}

}  // namespace jacobi
