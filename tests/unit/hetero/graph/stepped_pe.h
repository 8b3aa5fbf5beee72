#pragma once

#include <fmt/format.h>

#include <list>

#include "all_orders.h"
#include "imbrex/base/memory/sanitizer.h"
#include "open_step.h"
#include "step.h"
#include "stepped_device.h"
#include "unit/hetero/hetero_fixture.h"

/// One PE whose streams, notices and submissions happen in the order that a test decides.
namespace imbrex_test::stepped {

using imbrex::device;
using imbrex::device_kind;
using imbrex::hetero_domain;
using imbrex::hetero_object;
using imbrex::hetero_options;
using imbrex::stream;
using imbrex::task_options;

struct machine {
  int devices = 2;
  std::uint64_t elements_that_fit = 100;
  bool submitted_at_once = true;  ///< else in between
  bool large_copies = false;      ///< tasks take no stream before what comes to them from elsewhere is there
  bool host_at_once = true;       ///< the host does what it can before anything else happens; else in between
};

/// One PE, whose objects are used by one graph after the other.
class stepped_pe {
 public:
  explicit stepped_pe(const machine& m) : machine_(m) {
    for (int i = 0; i < m.devices; ++i) devices_.push_back(std::make_unique<stepped_device>(i, memory_, streams_));
  }

  /// Runs the graph one of the ways.
  void run(const graph_of_tasks& g, all_orders& way) {
    std::vector<device*> all;
    for (const auto& d : devices_) all.push_back(d.get());
    hetero_options o;
    o.device_bytes = machine_.elements_that_fit * sizeof(std::uint64_t);
    o.compute_lanes = 1;
    if (machine_.large_copies) o.large_copy_bytes = 1;
    host_history_ = 0;
    hetero_domain domain(pe_.queue, host_, all, o);
    std::vector<std::vector<std::uint64_t>> expected, found(2), lent(g.size()), seen_first(g.size()),
        seen_last(g.size());
    {
      std::vector<hetero_object<std::uint64_t>> objects;
      for (std::size_t i = 0; i < 2; ++i) {
        expected.push_back({i + 1, i + 5});
        objects.emplace_back(domain, elements);
        submit(domain, {}, [i](out v) { v[0] = i + 1, v[1] = i + 5; }, write(objects[i]));
      }
      pe_.run();
      std::size_t submitted = 0;
      const auto submit_next = [&] {
        if (submitted < g.size()) {
          const std::size_t i = submitted;
          const step& s = g[i];
          const auto& object = objects[s.what.to.object];
          if (s.kind == step_kind::task) {
            submit_step(domain, objects, s, i);
          } else if (s.kind == step_kind::evict) {
            object.evict();
          } else {
            open_.emplace_back(domain, object, s.kind, i, seen_first[i], seen_last[i]);
          }
        } else {
          for (std::size_t i = 0; i < 2; ++i) {
            submit(domain, {.name = "look"}, [&found, i](in v) { found[i].assign(v.begin(), v.end()); }, objects[i]);
          }
        }
        ++submitted;
      };
      while (machine_.submitted_at_once && submitted <= g.size()) submit_next();
      while (go_on(way, submitted <= g.size() ? &submit_next : nullptr)) {
      }
      open_.clear();
      ASSERT_EQ(domain.num_outstanding(), 0) << text(g) << "comes to a stop";
    }
    for (std::size_t i = 0; i < g.size(); ++i) do_step(g[i], i, expected, lent[i]);
    ASSERT_EQ(found, expected) << text(g) << "in the " << way.num_runs() << ". order";
    ASSERT_EQ(seen_first, lent) << text(g) << "in the " << way.num_runs() << ". order";
    ASSERT_EQ(seen_last, lent) << text(g) << "in the " << way.num_runs() << ". order";
    ASSERT_EQ(memory_.used().in_use, 0) << text(g);
  }

 private:
  void submit_step(hetero_domain& domain, const std::vector<hetero_object<std::uint64_t>>& objects, const step& s,
                   std::uint64_t id) {
    const deed& d = s.what;
    const auto from = objects[d.from.object].slice(d.from.offset, d.from.count);
    const auto to = objects[d.to.object].slice(d.to.offset, d.to.count);
    const task_options host{}, there{.on = device_kind::host, .number = s.place - 1};
    if (alone(d)) {
      if (s.place == 0) {
        submit(domain, host, [id](out v) { compute(id, v, v, false); }, to);
      } else {
        submit(domain, there, [id](stream& q, out v) { q.call("s", [=] { compute(id, v, v, false); }); }, to);
      }
      return;
    }
    const auto here = [id, d](in a, out b) { compute(id, a, b, d.overwrites); };
    const auto enqueued = [here](stream& q, in a, out b) { q.call("s", [=] { here(a, b); }); };
    if (s.place == 0) {
      d.overwrites ? submit(domain, host, here, from, write(to)) : submit(domain, host, here, from, to);
    } else {
      d.overwrites ? submit(domain, there, enqueued, from, write(to)) : submit(domain, there, enqueued, from, to);
    }
  }

  /// One event; false when none is possible.
  template <class Submit>
  bool go_on(all_orders& way, const Submit* submit_next) {
    for (bool any = true; any;) {
      any = false;
      for (stepped_stream* s : streams_) any |= s->pass_events();
    }
    pe_.queue.collect();
    const bool host = pe_.queue.has_ready();
    std::size_t n = (host ? 1 : 0) + (submit_next != nullptr ? 1 : 0);
    for (const open_step& s : open_) n += s.can_step() ? 1 : 0;
    for (const stepped_stream* s : streams_) n += s->can_step() ? 1 : 0;
    if (n == 0) return false;
    std::size_t chosen = n == 1 || (host && machine_.host_at_once) ? 0 : way.choose(n, state());
    if (host && chosen-- == 0) {
      note(1);
      imbrex::work* const w = pe_.queue.next();
      w->act(w, imbrex::work_action::run);
      return true;
    }
    if (submit_next != nullptr && chosen-- == 0) {
      note(2);
      (*submit_next)();
      return true;
    }
    std::uint64_t number = 1000;
    for (open_step& s : open_) {
      ++number;
      if (!s.can_step() || chosen-- != 0) continue;
      note(number);
      s.step();
      return true;
    }
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (!streams_[i]->can_step() || chosen-- != 0) continue;
      if (!streams_[i]->step()) note(3 + i);
      break;
    }
    return true;
  }

  void note(std::uint64_t what) { mix(host_history_, what); }
  static void mix(std::uint64_t& hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  /// What the host has seen, how far each stream is, and all memory.
  std::uint64_t state() const {
    std::uint64_t hash = host_history_;
    for (const stepped_stream* s : streams_) mix(hash, s->num_steps());
    const auto add = [&](const stepped_device& d) {
      d.for_each_memory([&](std::span<const std::byte> m) {
        for (std::size_t i = 0; i < m.size(); i += sizeof(std::uint64_t)) {
          std::uint64_t word;
          std::memcpy(&word, m.data() + i, sizeof word);
          mix(hash, word);
        }
      });
    };
    add(host_);
    for (const auto& d : devices_) add(*d);
    return hash;
  }

  const machine machine_;
  bare_pe pe_;
  imbrex::host_memory memory_;
  std::vector<stepped_stream*> streams_;
  stepped_device host_{0, memory_, streams_};
  std::vector<std::unique_ptr<stepped_device>> devices_;
  std::list<open_step> open_;  // of the graph that is run
  std::uint64_t host_history_ = 0;
};

/// All graphs of so many steps out of `choices`, in all orders; at most `limit` for each.
inline void run_steps(const machine& m, const std::vector<step>& choices, std::size_t num_steps, std::uint64_t limit) {
  stepped_pe on(m);
  std::uint64_t graph = 0, graphs = 0, orders = 0, states = 0, cut = 0;
  all_orders which;
  while (which.next(UINT64_MAX)) {
    graph_of_tasks g;
    for (std::size_t i = 0; i < num_steps; ++i) g.push_back(choices[which.choose(choices.size(), ++graph)]);
    all_orders way;
    while (way.next(limit)) {
      on.run(g, way);
      if (testing::Test::HasFatalFailure()) return;
    }
    ++graphs;
    orders += way.num_runs();
    states += way.num_states();
    cut += way.cut_short() ? 1 : 0;
  }
  fmt::print("{} graphs of {} steps: {} states, {} ways; cut short: {} graphs\n", graphs, num_steps, states, orders,
             cut);
}

/// All of so many tasks.
inline void run_all(const machine& m, const std::vector<deed>& deeds, std::size_t num_tasks, bool on_host_too,
                    std::uint64_t limit) {
  std::vector<step> choices;
  for (int place = on_host_too ? 0 : 1; place <= m.devices; ++place) {
    for (const deed& d : deeds) choices.push_back({d, place});
  }
  run_steps(m, choices, num_tasks, limit);
}

constexpr std::uint64_t most = imbrex::any_sanitizer ? 10 : UINT64_MAX;  // they take their time
constexpr std::uint64_t all = most, some = most < 200 ? most : 200;

}  // namespace imbrex_test::stepped
