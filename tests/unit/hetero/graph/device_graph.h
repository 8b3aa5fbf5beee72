#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "graph_deed.h"
#include "unit/async/bare_pe.h"

namespace imbrex_test {

/// Where a random graph runs.
struct graph_place {
  imbrex::hetero_domain& domain;
  imbrex::device_kind kind;    ///< of the devices that tasks are pinned to
  std::vector<int> numbers;    ///< of these devices
  std::function<void()> turn;  ///< what the PE's loop does in one turn, looking after its devices too
};

/// A random graph of tasks, submitted to a domain and done in sequence at the same time: kernels that may run anywhere,
/// kernels pinned to the host or to a device, functions of the host, functions that copy on a stream; reading,
/// changing and overwriting objects and slices; with explicit dependencies, priorities, evictions, prefetches, views on
/// the host that stay for a while, and windows that are recorded and replayed, some of them wholly on a device, or as
/// one task on several.
class device_graph {
 public:
  device_graph(graph_place on, unsigned seed, int num_objects) : on_(std::move(on)), random_(seed), seed_(seed) {
    own_.resize(static_cast<std::size_t>(num_objects));
    for (int i = 0; i < num_objects; ++i) {
      std::vector<word>& own = own_[static_cast<std::size_t>(i)];
      if (i % 3 == 1) own.resize(graph_elements);
      objects_.push_back(own.empty() ? imbrex::hetero_object<word>(on_.domain, graph_elements)
                                     : imbrex::hetero_object<word>::over(on_.domain, own));
      expected_.emplace_back(graph_elements, static_cast<word>(i));
      auto fill = [i](std::span<word> v) { std::fill(v.begin(), v.end(), static_cast<word>(i)); };
      submit(on_.domain, {}, fill, write(objects_.back()));
    }
  }
  device_graph(const device_graph&) = delete;

  /// Submits so many tasks, those of replays included, with turns of the PE in between.
  void grow(int num_tasks) {
    while (num_tasks_ < num_tasks && !testing::Test::HasFatalFailure()) step();
  }
  /// Waits for all, and compares all objects.
  void check() {
    std::vector<std::vector<word>> found(objects_.size());
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      auto look = [&found, i](std::span<const word> v) { found[i].assign(v.begin(), v.end()); };
      submit(on_.domain, {.name = "look"}, look, objects_[i]);
    }
    finish();
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    EXPECT_EQ(num_wrong_views_, 0) << "seed " << seed_;
    for (std::size_t i = 0; i < objects_.size(); ++i)
      ASSERT_EQ(found[i], expected_[i]) << "object " << i << ", seed " << seed_;
    for (std::size_t i = 1; i < objects_.size(); i += 3) ASSERT_EQ(own_[i], expected_[i]) << "object " << i;
    for (const auto& p : on_.domain.places()) {
      if (!p->is_host()) {
        ASSERT_LE(p->used(), p->capacity());
      }
    }
  }
  /// Replays that followed one that ran as a graph of the device.
  int num_graphs() const { return num_graphs_; }
  int num_windows_on_device() const { return num_windows_on_device_; }
  int num_windows_on_several() const { return num_windows_on_several_; }

 private:
  struct window {
    std::vector<deed> deeds;
    imbrex::task_window tasks;
  };
  using view_mode = imbrex::access_mode;

  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  bool one_in(std::size_t n) { return pick(n) == 0; }

  void step() {
    const std::size_t what = pick(1000);
    if (what < 820) {
      one_task();
    } else if (what < 880) {
      replay();
    } else if (what < 910) {
      look_at_it();
    } else if (what < 930) {
      end_views();
    } else if (what < 945) {
      get(pick_part(0)).evict();
    } else if (what < 955) {
      get(pick_part(0)).prefetch(on_.kind, any_number());
    } else {
      for (std::size_t turns = pick(20); turns > 0; --turns) on_.turn();
    }
    if (one_in(500)) finish();
  }

  // ---------------------------------------------------------------------------------------------- tasks

  /// Of the objects from `first` on; the second half of them is used in slices too.
  part pick_part(std::size_t first) {
    const std::size_t object = first + pick(objects_.size() - first);
    if (object < objects_.size() / 2 || pick(4) != 0) return {object, 0, graph_elements};
    return {object, pick(graph_elements / slice_elements) * slice_elements, slice_elements};
  }
  /// For a task of any window, or one on its own, which runs where `where` says. Whole objects, of `few`, if not 0.
  deed pick_deed(deed_where where, int number, std::size_t few) {
    const auto choose = [&] { return few == 0 ? pick_part(0) : part{pick(few), 0, graph_elements}; };
    deed d{.a = choose(), .b = choose(), .c = choose(), .id = ++last_id_, .overwrites = one_in(4), .where = where};
    while (d.c.overlaps(d.a) || d.c.overlaps(d.b)) d.c = choose();
    d.what = one_in(3) && where != deed_where::host ? deed_kind::copy : deed_kind::kernel;
    if (d.what == deed_kind::kernel && where != deed_where::device && one_in(3)) d.what = deed_kind::function;
    d.on = on_.kind;
    d.number = number;
    d.priority = static_cast<int>(pick(3));
    return d;
  }
  deed_where pick_where() { return std::array{deed_where::any, deed_where::host, deed_where::device}[pick(3)]; }
  int any_number() { return one_in(2) ? -1 : on_.numbers[pick(on_.numbers.size())]; }
  imbrex::hetero_object<word> get(const part& p) const { return objects_[p.object].slice(p.offset, p.count); }

  imbrex::hetero_task perform(const deed& d, std::span<const imbrex::hetero_task> after) {
    return submit_deed(on_.domain, d, get(d.a), get(d.b), get(d.c), after);
  }
  void apply(const deed& d) {
    const auto of = [&](const part& p) { return std::span(expected_[p.object]).subspan(p.offset, p.count); };
    do_deed(d, of(d.a), of(d.b), of(d.c));
    ++num_tasks_;
  }
  void one_task() {
    std::vector<imbrex::hetero_task> after;
    while (!some_tasks_.empty() && one_in(8)) after.push_back(some_tasks_[pick(some_tasks_.size())]);
    const deed d = pick_deed(pick_where(), any_number(), 0);
    imbrex::hetero_task t = perform(d, after);
    apply(d);
    if (some_tasks_.size() < 100) {
      some_tasks_.push_back(std::move(t));
    } else {
      some_tasks_[pick(some_tasks_.size())] = std::move(t);
    }
  }

  // ---------------------------------------------------------------------------------------------- windows

  void replay() {
    if (windows_.empty() || one_in(5)) record_one();
    window& w = windows_[pick(windows_.size())];
    for (std::size_t times = 1 + pick(4); times > 0; --times) {
      w.tasks.replay();
      for (const deed& d : w.deeds) apply(d);
      for (std::size_t turns = pick(3); turns > 0; --turns) on_.turn();
    }
    num_graphs_ += w.tasks.was_graph() ? 1 : 0;
  }
  /// Tasks of the host, or of one device, or of several, or of any.
  void record_one() {
    const std::size_t kind = pick(4);
    const int number = on_.numbers[pick(on_.numbers.size())];
    window w;
    w.tasks = imbrex::record(on_.domain, [&] {
      std::vector<imbrex::hetero_task> before;
      for (std::size_t left = 1 + pick(6); left > 0; --left) {
        const bool on_devices = kind == 1 || kind == 2;
        const deed_where where = kind == 0 ? deed_where::host : on_devices ? deed_where::device : pick_where();
        w.deeds.push_back(pick_deed(where, kind == 1 ? number : any_number(), on_devices ? 3 : 0));
        std::span<const imbrex::hetero_task> after = before;
        before.push_back(perform(w.deeds.back(), after.subspan(one_in(4) ? 0 : after.size())));
      }
    });
    num_windows_on_device_ += w.tasks.on_device() ? 1 : 0;
    num_windows_on_several_ += w.tasks.num_devices() > 1 ? 1 : 0;
    if (windows_.size() < 6) {
      windows_.push_back(std::move(w));
    } else {
      windows_[pick(windows_.size())] = std::move(w);
    }
  }

  // ---------------------------------------------------------------------------------------------- views

  /// A view that stays until `end_views` if it has come by then, else until it comes.
  struct open_view {
    std::unique_ptr<started> coroutine;
    imbrex::host_view<const word> view;
    bool stays = true;
  };
  void look_at_it() {
    const part p = pick_part(0);
    switch (pick(3)) {
      case 0: return look_so(p, view_mode::read);
      case 1: return look_so(p, view_mode::write);
      default: return look_so(p, view_mode::read_write);
    }
  }
  template <class Mode>
  void look_so(const part& p, Mode mode) {
    const auto now = std::span(expected_[p.object]).subspan(p.offset, p.count);
    open_view& v = open_views_.emplace_back();
    v.stays = one_in(2);
    v.coroutine =
        std::make_unique<started>(look(this, &v, get(p), mode, ++last_id_, std::vector<word>(now.begin(), now.end())));
    if (mode != view_mode::read) change(now, last_id_, mode == view_mode::write);
  }
  static void change(std::span<word> v, word id, bool overwrites) {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = (overwrites ? 0 : v[i] * 3) + id + static_cast<word>(i);
  }
  template <class Mode>
  static imbrex::task<> look(device_graph* self, open_view* v, imbrex::hetero_object<word> x, Mode mode, word id,
                             std::vector<word> expected) {
    constexpr view_mode what = Mode();
    auto access = x.host(mode);
    auto view = co_await access;
    if (what != view_mode::write && !std::equal(view.begin(), view.end(), expected.begin(), expected.end()))
      ++self->num_wrong_views_;
    if constexpr (what != view_mode::read)
      change(std::span<word>(view.data(), view.size()), id, what == view_mode::write);
    v->view = std::move(view);
    if (!v->stays) v->view.release();
  }
  void end_views() {
    for (auto v = open_views_.begin(); v != open_views_.end();) {
      v->stays = false;
      v->view.release();
      v = v->coroutine->ended() ? open_views_.erase(v) : std::next(v);
    }
  }

  void finish() {
    end_views();
    const auto began = std::chrono::steady_clock::now();
    while (on_.domain.num_outstanding() != 0) {
      on_.turn();
      ASSERT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60))
          << "it comes to a stop with " << on_.domain.num_outstanding() << " tasks outstanding, seed " << seed_;
    }
  }

  const graph_place on_;
  std::mt19937 random_;
  const unsigned seed_;
  std::vector<std::vector<word>> own_;  // where some of them lie on the host
  std::vector<imbrex::hetero_object<word>> objects_;
  std::vector<std::vector<word>> expected_;
  std::vector<imbrex::hetero_task> some_tasks_;
  std::vector<window> windows_;
  std::list<open_view> open_views_;
  word last_id_ = 0;
  int num_tasks_ = 0, num_wrong_views_ = 0, num_graphs_ = 0, num_windows_on_device_ = 0, num_windows_on_several_ = 0;
};

}  // namespace imbrex_test
