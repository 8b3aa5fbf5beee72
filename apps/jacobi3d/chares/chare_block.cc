#include "chares/chare_block.h"

#include <cmath>

#include "field/change_sum.h"
#include "field/field_hash.h"
#include "field/field_output.h"
#include "field/initial_state.h"
#include "field/serial_reference.h"
#include "stopping_rule.h"
#include "uneven_load.h"

namespace jacobi {

chare_job this_job;

std::uint64_t bytes_of_fields(extents grid) {
  return 2 * sizeof(double) * static_cast<std::uint64_t>((grid.nx + 7) / 8 * 8 * grid.ny * grid.nz);
}

namespace {
struct any_outcome {
  void operator()(repeat_outcome&, repeat_outcome&&) const {}
};
}  // namespace

block::block()
    : options_(*this_job.given),
      blocks_(options_.grid, extent().x, extent().y, extent().z),
      position_{index().x, index().y, index().z},
      cells_(blocks_.cells(position_)),
      field_(cells_.size, options_.boundary.value),
      kernel_(options_.formula,
              choose_store_policy(bytes_of_fields(options_.grid) / static_cast<std::uint64_t>(rt().num_ranks()))) {
  for (const face f : all_faces) {
    const auto n = blocks_.neighbour(position_, f, options_.boundary.periodic);
    if (!n) continue;
    neighbours_.push_back(f);
    faces_.connect(*this, array()[imbrex::index3d{n->x, n->y, n->z}], static_cast<int>(f),
                   static_cast<int>(opposite(f)), 0);  // what is sent is the field's own memory
  }
}

namespace {

/// Lets the kernel read a neighbour's values where they are.
void read_ghost_at(block_view& view, face f, const double* values) {
  const auto side = static_cast<std::size_t>(f) % 2;
  switch (f) {
    case face::xlo:
    case face::xhi: view.ghost_x[side] = values; break;
    case face::ylo:
    case face::yhi:
      view.ghost_y[side] = values;
      view.ghost_y_stride[side] = view.pitch;
      break;
    case face::zlo:
    case face::zhi: view.ghost_z[side] = values; break;
  }
}

}  // namespace

imbrex::task<> block::one_iteration() {
  imbrex::stream_set& s = streams();
  auto begun = faces_.begin(s.pack);
  co_await begun;
  int i = 0;
  for (const face f : neighbours_) {
    const std::span<const double> values = field_.outgoing(f);
    faces_.send(i++, {values.data(), values.size(), imbrex::memory_kind::host}, s.pack);
  }
  faces_.send(s.pack);  // nothing waits
  auto received = faces_.receive(s.compute);
  co_await received;  // another block runs meanwhile
  block_view view = field_.view();
  i = 0;
  for (const face f : neighbours_) read_ghost_at(view, f, faces_.in(i++).data);
  const int num_passes = passes_of(options_, imbrex::linear(index(), extent()), imbrex::volume(extent()), begun_++);
  s.compute.call("update", [kernel = &kernel_, view, num_passes] {
    for (int pass = 0; pass < num_passes; ++pass) kernel->update(view);
  });
  faces_.release();
  field_.advance();
  s.pack.after(s.compute);
}

imbrex::task<> block::prepare(std::int64_t done_before) {
  std::string failure;
  try {
    set_initial_state(field_, options_.grid, cells_, options_.initial, options_.boundary);
  } catch (const imbrex::error& e) {
    failure = e.what();
  }
  field_.reset_ghosts(options_.boundary.value);
  reached_ = 0;
  outcome_ = {};
  // All blocks have their initial state before any sends its faces; and if one has none, nobody starts.
  const std::string failures = co_await allreduce(failure, imbrex::concatenate);
  if (failures.empty()) {
    for (std::int64_t i = 0; i < options_.warm_up; ++i) {
      co_await one_iteration();
      if (balances_after(options_, begun_)) co_await imbrex::balance(*this);
      if (this_job.shown != nullptr && index() == imbrex::index3d{}) this_job.shown->update(done_before + i + 1);
    }
    co_await streams().compute.done();
  }
  contribute(failure, imbrex::concatenate);
}

void block::iterate(std::int64_t done_before) {
  shown_before_ = done_before;
  outcome_.done_before = reached_;
  array()[index()].send<&block::iterate_on>();
}

imbrex::task<> block::iterate_on() {
  const stopping_rule rule(options_.tolerance, options_.check_every, options_.iterations);
  while (reached_ < rule.limit() && !outcome_.converged) {
    const std::int64_t k = ++reached_;
    if (rule.consumed_before(k)) {
      auto sum = co_await changes(consumed_++);
      outcome_.norm = std::sqrt(apps::exact_sum(std::get<0>(sum)).to_double());
      outcome_.has_norm = true;
      outcome_.converged = rule.met(outcome_.norm);
    }
    co_await one_iteration();
    if (rule.is_check(k) && !outcome_.converged) {
      change_ = apps::exact_sum();
      streams().compute.call("change", [this, before = field_.previous(), after = field_.current()] {
        add_squared_changes(change_, before, after, cells_.size, field_.pitch());
      });
      co_await streams().compute.done();
      contribute(change_.limbs(), imbrex::sum, imbrex::deliver<&block::changes>(array(), checks_++));
    }
    if (this_job.shown != nullptr && index() == imbrex::index3d{}) this_job.shown->update(shown_before_ + k);
    if (balances_after(options_, begun_)) co_await imbrex::balance(*this);
    if (k % options_.point_every == 0) co_await imbrex::checkpoint_point(*this);
    co_await imbrex::move_point(*this);
  }
  co_await streams().compute.done();
  outcome_.iterations = reached_;
  contribute(outcome_, any_outcome{});
}

void block::hash() { contribute(hash_share(options_.grid, cells_, field_.current(), field_.pitch()), imbrex::sum); }

void block::write() {
  std::string failure;
  try {
    field_outputs(options_.outputs, blocks_).write(position_, field_.current(), field_.pitch());
  } catch (const std::exception& e) {
    failure = std::string(e.what()) + "\n";
  }
  contribute(failure, imbrex::concatenate);
}

verification block::compare(std::vector<double> expected) {
  return compare_block(cells_.size, field_.current(), field_.pitch(), expected.data());
}

}  // namespace jacobi
