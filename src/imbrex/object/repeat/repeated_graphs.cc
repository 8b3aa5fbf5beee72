#include <algorithm>
#include <list>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "imbrex/base/log.h"
#include "imbrex/device/buffer.h"
#include "imbrex/device/rounds/round_signature.h"
#include "imbrex/device/run_ahead.h"
#include "imbrex/object/collection/element.h"
#include "imbrex/object/repeat/repeat.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex::detail {

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

/// Whether every kernel takes a GPU longer than a PE takes to launch it, and a GPU has several in a round: then
/// launching costs nothing, and graphs, in which streams have no priorities and the driver chooses what runs beside
/// what, are slower. A GPU's only kernel comes earlier in a graph (measured).
bool kernels_are_large_and_many(const recorded_rounds& r) {
  constexpr std::size_t threads_of_large_one = 500'000;
  std::map<int, std::size_t> of_device;
  for (const auto& s : r.streams()) {
    for (const kept_operation& o : s->operations) {
      if (o.what != kept_operation::kind::kernel) continue;
      ++of_device[s->of->on().number()];
      if (o.shape.num_groups() * o.shape.items_of_group() < threads_of_large_one) return false;
    }
  }
  return std::ranges::any_of(of_device, [&](const auto& d) { return d.second > rounds_that_are_recorded; });
}

/// A graph takes some tens of microseconds to start, and each of its operations some to be made: longer ones where they
/// are run often.
int rounds_of_graph(const recorded_rounds& r, int num_rounds) {
  constexpr std::size_t most_operations = 2000;
  const int most_rounds = std::clamp(num_rounds / 128 * 2, 100, 200);
  const auto fitting = static_cast<int>(std::min<std::size_t>(2 * most_operations / operations_of_two_rounds(r), 1000));
  return std::clamp(fitting / 2 * 2, 2, std::min(most_rounds, num_rounds / 2 * 2));
}

/// Graphs of so many rounds, two of each, since one is enqueued while the other runs.
using graphs_by_length = std::map<std::pair<int, int>, std::unique_ptr<graph>>;

/// The graphs of the last few kinds of rounds that a chare led.
class kept_graphs {
 public:
  /// Those made for rounds that did the same; empty where there are none.
  graphs_by_length& of(const recorded_rounds& r) {
    std::vector<std::byte> what = signature_of(r);
    const auto known = std::ranges::find(kinds_, what, &kind::what);
    if (known != kinds_.end()) {
      kinds_.splice(kinds_.begin(), kinds_, known);
      if (known->graphs.size() > most_lengths) known->graphs.clear();
    } else {
      if (kinds_.size() == most) kinds_.pop_back();
      kinds_.push_front({std::move(what), {}});
    }
    return kinds_.front().graphs;
  }
  static kept_graphs& of(element_base& leader) {
    std::shared_ptr<void>& kept = leader.more().graphs_of_rounds;
    if (kept == nullptr) kept = std::make_shared<kept_graphs>();
    return *static_cast<kept_graphs*>(kept.get());
  }

 private:
  static constexpr std::size_t most = 4, most_lengths = 16;
  struct kind {
    std::vector<std::byte> what;
    graphs_by_length graphs;
  };
  std::list<kind> kinds_;  // the latest first
};

/// What was recorded, enqueued as graphs on a stream that comes after all that the rounds come after.
class graphs_of_rounds {
 public:
  graphs_of_rounds(device& d, recorded_rounds& r)
      : device_(d), recorded_(r), all_(d.make_stream(stream_priority::high, "repeated rounds")) {
    for (const auto& s : r.streams()) {
      for (const event& e : s->before) all_->wait(e);
    }
  }

  stream& in() const { return *all_; }
  /// The recorded rounds as they are.
  void run_once() {
    std::vector<std::size_t> as_recorded(rounds_that_are_recorded);
    std::iota(as_recorded.begin(), as_recorded.end(), 0);
    once_ = device_.graph_of_rounds(recorded_, as_recorded);
    all_->run(*once_);
  }
  /// They are those of `kept`, which lasts as long.
  void take(graphs_by_length& kept) { of_ = &kept; }
  /// So many rounds, an even number, as one graph after another; until the device is not too far behind. It always has
  /// some to go on with.
  task<> run(int num_rounds) {
    constexpr int between_looks = 4;
    const int most = rounds_of_graph(recorded_, num_rounds);
    while (num_rounds > 0) {
      const int each = std::min(most, num_rounds);
      std::unique_ptr<graph>& g = (*of_)[{each, num_run_ % 2}];
      if (g == nullptr) g = device_.graph_of_rounds(recorded_, order_of(each, rounds_that_are_recorded));
      all_->run(*g);
      num_rounds -= each;
      if (++num_run_ % between_looks == 0) co_await ahead_.step(*all_);
    }
  }

 private:
  device& device_;
  recorded_rounds& recorded_;
  const std::unique_ptr<stream> all_;
  std::unique_ptr<graph> once_;
  graphs_by_length* of_ = nullptr;
  run_ahead ahead_{2};
  int num_run_ = 0;
};

/// The parts of all chares, copied to the host after some rounds.
class looks_at_values {
 public:
  looks_at_values(device& d, std::vector<recorded_rounds::value> values) : values_(std::move(values)) {
    std::size_t bytes = 0;
    for (const auto& v : values_) bytes += rounded(v.bytes);
    on_host_ = buffer<std::byte>(d, bytes, memory_kind::pinned);
  }

  /// In the order of `s`, when the look before is over. Gives what is set when they are there.
  std::shared_ptr<completion> look(stream& s) {
    std::size_t at = 0;
    for (const auto& v : values_) {
      s.copy(on_host_.data() + at, v.at, v.bytes);
      at += rounded(v.bytes);
    }
    auto there = std::make_shared<completion>();
    s.then("look", [there] { there->set(); });
    return there;
  }
  /// Of the latest look, when it is there.
  bool is_enough(const round_judge& judge) const {
    std::vector<std::span<const std::byte>> parts;
    std::size_t at = 0;
    for (const auto& v : values_) {
      parts.emplace_back(on_host_.data() + at, v.bytes);
      at += rounded(v.bytes);
    }
    return judge.is_enough(parts);
  }

 private:
  static std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

  const std::vector<recorded_rounds::value> values_;
  buffer<std::byte> on_host_;
};

/// Looks while the rounds that follow are under way: they are enqueued before it is known whether they are needed.
task<done_again> run_until(graphs_of_rounds& graphs, looks_at_values& looks, int begin, int end,
                           const round_judge& judge) {
  std::shared_ptr<completion> there;
  for (int i = begin;;) {
    const int next = std::min(judge.next_look(i), end), num = (next - i) / 2 * 2;
    auto some = graphs.run(num);
    co_await some;
    i += num;
    if (i < next || !judge.is_to_look(i)) co_return done_again{i - begin};
    if (there != nullptr) {
      co_await *there;
      if (looks.is_enough(judge)) co_return done_again{i - begin, true};
    }
    if (i == end) co_return done_again{i - begin};
    there = looks.look(graphs.in());
  }
}

}  // namespace

task<done_again> do_again(element_base& leader, std::shared_ptr<recorded_rounds> recorded, int num_before,
                          int num_rounds, round_judge* judge) {
  device& d = *scheduler::current().default_device;
  graphs_of_rounds graphs(d, *recorded);
  std::string why_not = recorded->why_not_repeated();
  if (why_not.empty() && kernels_are_large_and_many(*recorded))
    why_not = "their kernels are large, so that it costs nothing";
  if (why_not.empty()) graphs.take(kept_graphs::of(leader).of(*recorded));
  done_again done;
  std::optional<looks_at_values> looks;
  if (!why_not.empty()) {
    log_info("ix::repeat calls its rounds one by one: " + why_not);
    graphs.run_once();
    done.num_rounds = rounds_that_are_recorded;
  } else if (judge == nullptr) {
    done.num_rounds = num_rounds / 2 * 2;
    auto all = graphs.run(done.num_rounds);
    co_await all;
  } else {
    looks.emplace(d, recorded->values());
    auto all = run_until(graphs, *looks, num_before, num_before + num_rounds, *judge);
    done = co_await all;
  }
  co_await graphs.in().done();
  recorded->end();
  co_return done;
}

}  // namespace imbrex::detail
