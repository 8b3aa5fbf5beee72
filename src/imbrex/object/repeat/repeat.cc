#include "imbrex/object/repeat/repeat.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "imbrex/base/log.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex::detail {

repeated_streams::repeated_streams(element_base& e, stream_set* own) : element_(e) {
  if (own != nullptr) all_ = {&own->compute, &own->pack, &own->unpack, &own->to_host, &own->to_device};
  element_.ties().for_each_follower([this](const actor_follower& f) {
    if (stream* const s = stream::that_follows(f); s != nullptr) all_.push_back(s);
  });
}

bool repeated_streams::can_record() const {
  const rank_context& rank = scheduler::current().rank();
  return rank.num_ranks == 1 && !rank.check_races && !all_.empty() &&
         std::ranges::all_of(all_, [](const stream* s) { return s->can_record(); });
}

std::uint64_t repeated_streams::num_functions() const {
  std::uint64_t n = 0;
  for (const stream* const s : all_) n += s->num_functions();
  return n;
}

void repeated_streams::record(const std::shared_ptr<recorded_rounds>& into) {
  for (stream* const s : all_) s->record_rounds(into);
  element_.ties().records_rounds = records_ = true;
}

void repeated_streams::end_round() {
  for (stream* const s : all_) s->end_round();
}

void repeated_streams::stop() {
  if (!std::exchange(records_, false)) return;
  element_.ties().records_rounds = false;
  for (stream* const s : all_) s->stop_recording();
}

task<> repeated_streams::keep_up(int round) {
  constexpr int every = 32;
  if (all_.empty() || round % every != 0) co_return;
  if (ahead_ == nullptr) ahead_ = std::make_unique<run_ahead>(2);
  completion& passed = ahead_->step(*all_.front());
  co_await passed;
}

void refuse_different_rounds(int fewest, int most) {
  throw usage_error(fmt::format(
      "ix::repeat was called for {} rounds by one chare and for {} by another: all chares of the array call "
      "it with the same number",
      fewest, most));
}

void tell_of_functions() {
  log_info(
      "ix::repeat calls its rounds one by one: a round awaits a stream, or has it call a function of the host (as "
      "memory of the host that is sent does)");
}

namespace {

/// So many of the recorded rounds, the last two again and again; the first is of the first kind.
std::vector<std::size_t> order_of(int num_rounds, std::size_t num_recorded) {
  std::vector<std::size_t> order(static_cast<std::size_t>(num_rounds));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = num_recorded - 2 + i % 2;
  return order;
}

std::size_t operations_of_two_rounds(const recorded_rounds& r) {
  std::size_t n = 0;
  for (const auto& s : r.streams()) {
    for (std::size_t i = s->begin_of(s->num_rounds() - 2); i < s->end_of(s->num_rounds() - 1); ++i)
      n += s->operations[i].what != kept_operation::kind::wait ? 1 : 0;
  }
  return std::max<std::size_t>(n, 1);
}

/// Whether every kernel takes a GPU longer than a PE takes to launch it: then launching costs nothing, and graphs, in
/// which streams have no priorities and the driver chooses what runs beside what, are slower (measured).
bool all_kernels_are_large(const recorded_rounds& r) {
  constexpr std::size_t threads_of_large_one = 500'000;
  bool any = false;
  for (const auto& s : r.streams()) {
    for (const kept_operation& o : s->operations) {
      if (o.what != kept_operation::kind::kernel) continue;
      any = true;
      if (o.shape.num_groups() * o.shape.items_of_group() < threads_of_large_one) return false;
    }
  }
  return any;
}

/// A graph takes some microseconds to start, and each of its operations as much to be made.
int rounds_of_graph(const recorded_rounds& r, int num_rounds) {
  constexpr std::size_t most_operations = 2000;
  constexpr int most_rounds = 50;
  const auto fitting = static_cast<int>(std::min<std::size_t>(2 * most_operations / operations_of_two_rounds(r), 1000));
  return std::clamp(fitting / 2 * 2, 2, std::min(most_rounds, num_rounds / 2 * 2));
}

}  // namespace

task<int> do_again(std::shared_ptr<recorded_rounds> recorded, int num_rounds) {
  device& d = *scheduler::current().default_device;
  const std::unique_ptr<stream> all = d.make_stream(stream_priority::high, "repeated rounds");
  for (const auto& s : recorded->streams()) {
    for (const event& e : s->before) all->wait(e);
  }
  std::string why_not = recorded->why_not_repeated();
  if (why_not.empty() && all_kernels_are_large(*recorded))
    why_not = "their kernels are large, so that it costs nothing";
  if (!why_not.empty()) {
    log_info("ix::repeat calls its rounds one by one: " + why_not);
    std::vector<std::size_t> as_recorded(rounds_that_are_recorded);
    std::iota(as_recorded.begin(), as_recorded.end(), 0);
    const std::unique_ptr<graph> once = d.graph_of_rounds(*recorded, as_recorded);
    all->run(*once);
    co_await all->done();
    recorded->end();
    co_return rounds_that_are_recorded;
  }
  constexpr int most_under_way = 8;
  const int each = rounds_of_graph(*recorded, num_rounds), times = num_rounds / each,
            left = (num_rounds - each * times) / 2 * 2;
  const std::unique_ptr<graph> many = d.graph_of_rounds(*recorded, order_of(each, rounds_that_are_recorded));
  for (int t = 0; t < times; ++t) {
    all->run(*many);
    if (t % most_under_way == most_under_way - 1) co_await all->done();
  }
  std::unique_ptr<graph> few;
  if (left > 0) {
    few = d.graph_of_rounds(*recorded, order_of(left, rounds_that_are_recorded));
    all->run(*few);
  }
  co_await all->done();
  recorded->end();
  co_return each* times + left;
}

}  // namespace imbrex::detail
