#include "imbrex/balance/live/balancer.h"

#include <algorithm>
#include <exception>
#include <unordered_map>

#include <fmt/format.h>

#include "imbrex/balance/balance_record.h"
#include "imbrex/balance/live/balance.h"
#include "imbrex/balance/live/balance_messages.h"
#include "imbrex/base/log.h"
#include "imbrex/object/collection/collection.h"
#include "imbrex/object/collection/element_traffic.h"

namespace imbrex {

namespace {

/// Elements that have left a PE so far.
std::uint64_t num_moved(const element_loads& loads) {
  std::uint64_t n = 0;
  for (const measured_pe& p : loads.pes) n += p.num_moves;
  return n;
}

/// What moves have cost so far, with what neighbours have to learn, of which nobody takes the time.
double seconds_per_move(const element_loads& loads) {
  constexpr double least = 10e-6;
  const auto num = static_cast<double>(num_moved(loads));
  double seconds = 0;
  for (const measured_pe& p : loads.pes) seconds += static_cast<double>(p.moving_ns) * 1e-9;
  return num > 0 ? std::max(seconds / num, least) : least;
}

/// What `f` throws, in words; empty: nothing.
template <class F>
std::string failure_of(F f) {
  try {
    f();
    return {};
  } catch (const std::exception& e) {
    const std::string what = e.what();
    return what.empty() ? "it threw an exception without a text" : what;
  } catch (...) {
    return "it threw what is no std::exception";
  }
}

constexpr double most_intervals = 100;
constexpr int most_looks_to_wait = 8;          // for elements to move that were told to
constexpr double least_busy = 0.05;            // share of an interval; what is less is not what the job waits for
constexpr std::uint32_t looks_for_sizes = 32;  // after which elements are asked again how large they are

}  // namespace

balancer::balancer(chare_pe& pe, const balance_options& options, const pe_shape& shape)
    : pe_(pe),
      options_(options),
      shape_(shape),
      rates_(options.rates, shape.num_pes),
      times_(pe),
      last_ns_(pe.now_ns()),
      measured_ns_(last_ns_) {
  const std::string failure = failure_of([&] {
    strategy_ = make_strategy(options.strategy);
    counts_exchanges_ = strategy_->uses_communication() || !options.record.empty();
    uses_places_ = strategy_->uses_places();
  });
  if (!failure.empty())
    throw usage_error(fmt::format("--imbrex-balance={}: this strategy cannot be used: {}", options.strategy, failure));
  if (counts_exchanges_) pe.traffic = std::make_unique<element_traffic>();
  if (pe.id() == 0) {
    if (!options.record.empty()) record_ = std::make_unique<balance_record_writer>(options.record);
  }
  if (options.interval_ms > 0) watch(pe);
}

balancer::~balancer() {
  if (options_.interval_ms > 0) unwatch(pe_);
}

balancer* balancer::of(scheduler& pe) { return static_cast<balancer*>(chare_pe::of(pe).balancing.get()); }

void balancer::sees_devices() {
  constexpr std::size_t first_sample = 1024;  // before it is known how many elements there are
  if (usage_meter* const meter = usage_meter::of(pe_); meter != nullptr) meter->measure(first_sample);
}

balance_summary balance_summary_of(scheduler& pe) {
  const balancer* const b = balancer::of(pe);
  return b != nullptr ? b->summary() : balance_summary{};
}

bool detail::ask_to_balance(scheduler& pe, const reduction_id& which) {
  if (balancer::of(pe) == nullptr) return false;
  pe.send(0, balance_call{pe.id(), which}, priorities::communication);
  return true;
}

// Only while elements run: a job in which nothing happens comes to rest.
void balancer::run_changes(const actor*, const actor*, std::int64_t now) {
  if (now - last_ns_ < std::int64_t{options_.interval_ms} * 1'000'000) [[likely]]
    return;
  last_ns_ = now;
  pe_.send(0, balance_wanted{round_}, priorities::communication);
}

std::vector<std::byte> balancer::to_keep() { return to_bytes(learnt_); }

void balancer::take_kept(std::span<const std::byte> kept) {
  from_bytes(std::vector<std::byte>(kept.begin(), kept.end()), learnt_);
}

// ------------------------------------------------------------------------------------------------ a round

void balancer::begin_round(std::vector<std::pair<pe_id, reduction_id>> and_then) {
  next_round_.insert(next_round_.end(), and_then.begin(), and_then.end());
  if (running_) {
    wanted_again_ |= !and_then.empty();
    return;
  }
  running_ = true;
  wanted_again_ = false;
  told_after_ = std::exchange(next_round_, {});
  pe_.spread(balance_measure{pe_.id(), ++round_}, priorities::communication);
}

void balancer::measure(std::uint32_t round) {
  round_ = round;
  measured_in_ = round;
  const std::int64_t now = pe_.now_ns();
  element_loads mine = loads_of(pe_, times_.take(), measured_);
  if (speed_ == 0) speed_ = rates_.are_measured() ? measured_speed() : rates_.of(pe_.id());
  mine.pes.push_back({.pe = pe_.id(),
                      .interval_ns = now - std::exchange(measured_ns_, now),
                      .num_moves = pe_.move_costs.num,
                      .moving_ns = pe_.move_costs.ns,
                      .speed = speed_});
  add_operations(mine, pe_, usage_meter::of(pe_), measured_);
  if (mine.pes.back().gpu != measured_pe::none || !options_.record.empty())
    add_sizes(mine, pe_, measured_, round % looks_for_sizes == 1);
  if (counts_exchanges_) add_exchanges(mine, pe_, measured_);
  last_ns_ = now;
  sum_.begin(pe_, 0, std::move(mine));
  pass_on();
}

void balancer::add(element_loads&& below) {
  sum_.add(std::move(below));
  pass_on();
}

void balancer::pass_on() {
  if (!sum_.is_complete()) return;
  if (sum_.above() != no_pe) {
    pe_.send(sum_.above(), balance_measured{sum_.take()}, priorities::communication);
  } else {
    decide(sum_.take());
  }
}

void balancer::decide(element_loads&& loads) {
  share_gpus_out(loads);
  refer_to_the_fastest(loads, rates_.are_measured());
  // A program that says when to look knows that what was measured is what there is to balance.
  if (options_.interval_ms > 0) learnt_.history.smooth(loads);
  const balance_problem problem = problem_of(loads, shape_, uses_places_);
  ++summary_.num_rounds;
  if (record_ != nullptr) record_->write({.program = "", .step = round_, .problem = problem});
  balance_plan plan;
  const std::int64_t began = now_ns();
  tell_of_failure(failure_of([&] { plan = plan_live(*strategy_, problem, loads, shape_); }));
  const double planning = static_cast<double>(now_ns() - began) * 1e-9;
  summary_.planning_seconds += planning;
  const judgement before = judge(problem, {}), after = judge(problem, plan);
  if (summary_.num_rounds == 1)
    summary_.first_efficiency = before.efficiency;
  else
    summary_.sum_of_efficiencies += before.efficiency;
  summary_.last_efficiency = before.efficiency;
  // A job is taken to go on for as long as it has; whether its loads stay is another matter, so within limits.
  const double intervals = std::min(static_cast<double>(summary_.num_rounds), most_intervals);
  const balance_gain gain =
      gain_of(plan, intervals * before.time, intervals * after.time, planning, seconds_per_move(loads), shape_.num_pes);
  summary_.num_moved = num_moved(loads);
  const bool pays = !plan.moves.empty() && gain.pays();
  const char* const too_early = why_too_early(before.time, loads);
  if (too_early == nullptr && !pays) learnt_.patience.looks_only(before.efficiency);
  const bool goes = too_early == nullptr && pays && learnt_.patience.tries(before.efficiency, after.efficiency);
  log_info(
      fmt::format("balance round {}: efficiency {:.3f}, {} moves for {:.3f} ({:.3f} ms saved, {:.3f} ms spent){}; "
                  "{} have moved so far",
                  round_, before.efficiency, plan.moves.size(), after.efficiency, gain.seconds_saved * 1e3,
                  gain.seconds_spent * 1e3,
                  goes                 ? ""
                  : too_early          ? too_early
                  : plan.moves.empty() ? any_may_move(problem, loads, shape_) ? ", none needed" : ", none can move"
                  : !pays              ? ", which does not pay"
                                       : ", not carried out: too much is chance, or earlier plans did not help",
                  summary_.num_moved));
  if (goes) {
    ++summary_.num_plans;
    summary_.num_moves += plan.moves.size();
    looks_to_wait_ = most_looks_to_wait;
    enough_moved_ = summary_.num_moved + (plan.moves.size() + 1) / 2;
    num_ordered_ = send_orders(plan, loads);
  }
  if (num_ordered_ == 0) end_round();
}

// At the first looks a strategy may not know yet what it goes by: who talks to whom, say.
void balancer::tell_of_failure(const std::string& what) {
  constexpr int looks_to_learn = 3;
  if (what.empty()) {
    num_failures_ = 0;
    return;
  }
  const bool is_lasting = ++num_failures_ >= looks_to_learn || options_.interval_ms == 0;
  const bool is_warning = is_lasting && !std::exchange(has_warned_, true);
  log_message(is_warning ? log_level::warning : log_level::info,
              fmt::format("loads are not balanced by '{}': {}", options_.strategy, what));
}

const char* balancer::why_too_early(double busiest, const element_loads& loads) {
  if (options_.interval_ms == 0) return nullptr;  // the program knows when to look
  if (looks_to_wait_ > 0 && summary_.num_moved < enough_moved_) {
    --looks_to_wait_;
    return ", not carried out: of the last plan not even half has moved";
  }
  looks_to_wait_ = 0;
  std::int64_t interval = 0;
  for (const measured_pe& p : loads.pes) interval = std::max(interval, p.interval_ns);
  return busiest >= least_busy * 1e-9 * static_cast<double>(interval) ? nullptr
                                                                      : ", not carried out: all wait most of the time";
}

std::size_t balancer::send_orders(const balance_plan& plan, const element_loads& loads) {
  // Where the elements of each PE begin: they lie together, in whatever order the tree brought them.
  std::unordered_map<pe_id, std::size_t> first;
  for (std::size_t i = 0; i < loads.all.size(); ++i) first.try_emplace(loads.all[i].pe, i);
  std::unordered_map<pe_id, balance_orders> orders;
  for (const balance_move& m : plan.moves) {
    const auto i = static_cast<std::size_t>(m.element);
    const pe_id from = loads.all[i].pe;
    orders[from].moves.emplace_back(static_cast<std::uint32_t>(i - first.at(from)), m.to);
  }
  for (auto& [pe, order] : orders) {
    order.round = round_;
    pe_.send(pe, std::move(order), priorities::communication);
  }
  return orders.size();
}

void balancer::carry_out(std::uint32_t round, const std::vector<std::pair<std::uint32_t, pe_id>>& moves) {
  if (round == measured_in_) {
    for (const auto& [which, to] : moves) {
      const measured_element& m = measured_.at(which);
      if (m.element->object != nullptr && m.element->epoch == m.epoch) m.element->part->wish_to_move(*m.element, to);
    }
  }
  // Behind the wishes: when it has come, those that could move at once have gone.
  pe_.send(pe_.id(), balance_moves_begun{}, priorities::communication);
}

void balancer::carried_out() {
  if (--num_ordered_ == 0) end_round();
}

void balancer::end_round() {
  running_ = false;
  for (const auto& [root, which] : std::exchange(told_after_, {}))
    pe_.send(root, balance_over{which}, priorities::communication);
  if (wanted_again_) begin_round({});
}

}  // namespace imbrex
