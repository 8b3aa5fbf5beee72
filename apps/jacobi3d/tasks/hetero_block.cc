#include "tasks/hetero_block.h"

#include <algorithm>
#include <cmath>

#include "field/field_hash.h"
#include "field/field_output.h"
#include "field/initial_state.h"
#include "field/serial_reference.h"
#include "stopping_rule.h"

namespace jacobi {

namespace {

struct any_outcome {
  void operator()(repeat_outcome&, repeat_outcome&&) const {}
};

using neighbour_table = std::array<std::optional<block_position>, num_faces>;

neighbour_table neighbours_of(const decomposition& blocks, block_position p, bool periodic) {
  neighbour_table all;
  for (const face f : all_faces) all[static_cast<std::size_t>(f)] = blocks.neighbour(p, f, periodic);
  return all;
}

face_set sides_of(const neighbour_table& neighbours) {
  face_set sides;
  for (const face f : all_faces) {
    if (neighbours[static_cast<std::size_t>(f)]) sides = sides.with(f);
  }
  return sides;
}

bool exceeds_caches(const options& o, const imbrex::runtime& rt, const imbrex::device& where) {
  if (where.kind() != imbrex::device_kind::host) return false;
  const std::uint64_t bytes = bytes_of_fields(o.grid) / static_cast<std::uint64_t>(rt.num_ranks());
  return choose_store_policy(bytes) == store_policy::streaming;
}

}  // namespace

hetero_block::hetero_block()
    : options_(*this_job.given),
      blocks_(options_.grid, extent().x, extent().y, extent().z),
      position_{index().x, index().y, index().z},
      cells_(blocks_.cells(position_)),
      neighbours_(neighbours_of(blocks_, position_, options_.boundary.periodic)),
      field_(cells_.size, sides_of(neighbours_), options_, on_device(), exceeds_caches(options_, rt(), on_device())) {}

// ------------------------------------------------------------------------------------------------ one iteration

void hetero_block::send_faces() {
  for (const face f : all_faces) {
    const auto& n = neighbours_[static_cast<std::size_t>(f)];
    if (!n) continue;
    array()[imbrex::index3d{n->x, n->y, n->z}].send<&hetero_block::arrived>(reference(step_, opposite(f)),
                                                                            field_.take(f));
  }
}

imbrex::task<> hetero_block::one_iteration() {
  send_faces();
  hetero_field::faces faces;
  for (const face f : all_faces) {
    if (!neighbours_[static_cast<std::size_t>(f)]) continue;
    auto message = co_await arrived(reference(step_, f));  // another block runs meanwhile
    faces[static_cast<std::size_t>(f)] = std::move(std::get<0>(message));
  }
  imbrex::hetero_task& oldest = under_way_[static_cast<std::size_t>(step_) % run_ahead];
  co_await oldest;
  oldest = field_.update(std::move(faces));
  ++step_;
}

imbrex::task<> hetero_block::finish() {
  for (const imbrex::hetero_task& t : under_way_) co_await t;
}

// ------------------------------------------------------------------------------------------------ a repeat

std::string hetero_block::set_initial_state(const imbrex::host_view<double>& current,
                                            const imbrex::host_view<double>& next) const {
  std::ranges::fill(current, 0.0);  // with what stands between the rows
  std::ranges::fill(next, 0.0);
  try {
    write_initial_state(hetero_field::first_row(current), field_.pitch(), options_.grid, cells_, options_.initial,
                        options_.boundary);
  } catch (const imbrex::error& e) {
    return e.what();
  }
  return {};
}

imbrex::task<> hetero_block::prepare(std::int64_t done_before) {
  std::string failure;
  {
    auto current_access = field_.current(imbrex::access_mode::write);
    auto next_access = field_.next(imbrex::access_mode::write);
    const auto current = co_await current_access;
    const auto next = co_await next_access;
    failure = set_initial_state(current, next);
  }
  field_.pack();
  // If one block has no initial state, nobody starts.
  const std::string failures = co_await allreduce(failure, imbrex::concatenate);
  if (failures.empty()) {
    for (std::int64_t i = 0; i < options_.warm_up; ++i) {
      co_await one_iteration();
      if (this_job.shown != nullptr && is_first()) this_job.shown->update(done_before + i + 1);
    }
    co_await finish();
  }
  contribute(failure, imbrex::concatenate);
}

imbrex::task<> hetero_block::contribute_change() {
  if (!measured_) co_return;
  const auto limbs = co_await *measured_;
  apps::exact_sum::limb_array sum{};
  std::ranges::copy(limbs, sum.begin());
  measured_.reset();
  contribute(sum, imbrex::sum, imbrex::deliver<&hetero_block::changes>(array(), checks_++));
}

imbrex::task<> hetero_block::iterate(std::int64_t done_before) {
  const stopping_rule rule(options_.tolerance, options_.check_every, options_.iterations);
  repeat_outcome outcome;
  std::int64_t k = 0;
  while (k < rule.limit() && !outcome.converged) {
    ++k;
    if (rule.consumed_before(k)) {
      co_await contribute_change();
      auto sum = co_await changes(consumed_++);
      outcome.norm = std::sqrt(apps::exact_sum(std::get<0>(sum)).to_double());
      outcome.has_norm = true;
      outcome.converged = rule.met(outcome.norm);
    }
    co_await one_iteration();
    if (measured_ && measured_->ready()) co_await contribute_change();
    if (rule.is_check(k) && !outcome.converged) {
      change_ = field_.squared_changes();
      measured_.emplace(change_.host(imbrex::access_mode::read));
    }
    if (this_job.shown != nullptr && is_first()) this_job.shown->update(done_before + k);
  }
  co_await finish();
  outcome.iterations = k;
  contribute(outcome, any_outcome{});
}

// ------------------------------------------------------------------------------------------------ results

imbrex::task<> hetero_block::hash() {
  auto access = field_.current(imbrex::access_mode::read);
  const auto view = co_await access;
  contribute(hash_share(options_.grid, cells_, hetero_field::first_row(view), field_.pitch()), imbrex::sum);
}

imbrex::task<> hetero_block::write(std::string suffix) {
  auto access = field_.current(imbrex::access_mode::read);
  const auto view = co_await access;
  std::string failure;
  try {
    field_outputs(options_.outputs, blocks_, suffix).write(position_, hetero_field::first_row(view), field_.pitch());
  } catch (const std::exception& e) {
    failure = std::string(e.what()) + "\n";
  }
  contribute(failure, imbrex::concatenate);
}

imbrex::task<verification> hetero_block::compare(std::vector<double> expected) {
  auto access = field_.current(imbrex::access_mode::read);
  const auto view = co_await access;
  co_return compare_block(cells_.size, hetero_field::first_row(view), field_.pitch(), expected.data());
}

}  // namespace jacobi
