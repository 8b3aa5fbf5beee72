#include "chares/chare_block.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "field/field_hash.h"
#include "field/field_output.h"
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

template <class Chare>
auto scheme_of(Chare& self, const block_place& at) {
  using scheme = std::variant<single_steps, deep_steps>;
  return at.given.steps == 1 ? scheme(std::in_place_type<single_steps>, self, at)
                             : scheme(std::in_place_type<deep_steps>, self, at);
}
}  // namespace

block::block()
    : options_(*this_job.given),
      blocks_(options_.grid, extent().x, extent().y, extent().z),
      position_{index().x, index().y, index().z},
      cells_(blocks_.cells(position_)),
      scheme_(scheme_of(*this, {options_, blocks_, position_, cells_,
                                choose_store_policy(bytes_of_fields(options_.grid) /
                                                    static_cast<std::uint64_t>(rt().num_ranks()))})) {}

cell_rows block::cells_now() {
  return std::visit([](auto& s) { return s.current(); }, scheme_);
}

std::int64_t block::steps_within(std::int64_t most) const {
  const std::int64_t steps = std::min<std::int64_t>(options_.steps, most);
  return options_.balance_every > 0 ? std::min(steps, options_.balance_every - begun_ % options_.balance_every) : steps;
}

imbrex::task<> block::advance(std::int64_t steps) {
  const int num_passes = passes_of(options_, imbrex::linear(index(), extent()), imbrex::volume(extent()), begun_);
  begun_ += steps;
  return std::visit([&](auto& s) { return s.advance(&streams(), static_cast<int>(steps), num_passes); }, scheme_);
}

imbrex::task<> block::prepare(std::int64_t done_before) {
  std::string failure;
  try {
    const block_place at{options_, blocks_, position_, cells_, {}};
    std::visit([&](auto& s) { s.set_initial(at); }, scheme_);
  } catch (const imbrex::error& e) {
    failure = e.what();
  }
  reached_ = 0;
  outcome_ = {};
  // All blocks have their initial state before any sends its faces; and if one has none, nobody starts.
  const std::string failures = co_await allreduce(failure, imbrex::concatenate);
  if (failures.empty()) {
    for (std::int64_t done = 0; done < options_.warm_up;) {
      const std::int64_t steps = steps_within(options_.warm_up - done);
      auto advanced = advance(steps);
      co_await advanced;
      done += steps;
      if (balances_after(options_, begun_)) co_await imbrex::balance(*this);
      if (this_job.shown != nullptr && index() == imbrex::index3d{}) this_job.shown->update(done_before + done);
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
    // The next iteration whose change is looked at, or after which there may be a checkpoint, is the last of its pass.
    std::int64_t next = std::min(rule.limit(), (reached_ / options_.point_every + 1) * options_.point_every);
    if (options_.tolerance) next = std::min(next, (reached_ / options_.check_every + 1) * options_.check_every);
    const std::int64_t steps = steps_within(next - reached_), k = reached_ += steps;
    if (rule.consumed_before(k)) {
      auto sum = co_await changes(consumed_++);
      outcome_.norm = std::sqrt(apps::exact_sum(std::get<0>(sum)).to_double());
      outcome_.has_norm = true;
      outcome_.converged = rule.met(outcome_.norm);
    }
    auto advanced = advance(steps);
    co_await advanced;
    if (rule.is_check(k) && !outcome_.converged) {
      change_ = apps::exact_sum();
      streams().compute.call("change", [this] { std::visit([&](auto& s) { s.add_changes(change_); }, scheme_); });
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

void block::hash() {
  const cell_rows rows = cells_now();
  contribute(hash_share(options_.grid, cells_, rows.data, rows.pitch), imbrex::sum);
}

void block::write(std::string suffix) {
  std::string failure;
  try {
    const cell_rows rows = cells_now();
    field_outputs(options_.outputs, blocks_, suffix).write(position_, rows.data, rows.pitch);
  } catch (const std::exception& e) {
    failure = std::string(e.what()) + "\n";
  }
  contribute(failure, imbrex::concatenate);
}

verification block::compare(std::vector<double> expected) {
  const cell_rows rows = cells_now();
  return compare_block(cells_.size, rows.data, rows.pitch, expected.data());
}

}  // namespace jacobi
