#include "imbrex/hetero/placement.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/ready_list.h"
#include "imbrex/hetero/shortest_finish.h"

namespace imbrex {

namespace {

/// Devices before the host: it is there for what runs nowhere else.
bool preferred(const place& p, const place* best, std::uint64_t missing, std::uint64_t best_missing) {
  if (best == nullptr || best->is_host() != p.is_host()) return best == nullptr || best->is_host();
  if (missing != best_missing) return missing < best_missing;
  return p.num_tasks_under_way < best->num_tasks_under_way;
}

/// Whether nothing that the task reads is still being computed: then it can run elsewhere sooner, else not. What is in
/// slices, whose data may be anywhere, is left where it is.
bool could_move(const task_node& t) {
  for (int n = 0; n < t.num_accesses; ++n) {
    if (!reads(t.accesses[n].mode)) continue;
    hetero_data& d = *t.accesses[n].data;
    bool is_there = false;
    for (int i = 0; i < d.num_places && d.family == nullptr; ++i)
      is_there |= d.at(i).state != coherence::invalid && d.at(i).written.reached();
    if (!is_there) return false;
  }
  return true;
}

class locality final : public placement_policy {
 public:
  void push(task_node& t) override { ready_.push(t); }

  choice pop(const placement_view& view) override {
    choice best;
    task_node* before_best = nullptr;
    std::uint64_t best_missing = UINT64_MAX;
    task_node* before = nullptr;
    int looked_at = 0;
    for (task_node* t = ready_.first(); t != nullptr && looked_at < look_ahead; before = t, t = t->next, ++looked_at) {
      if (best.task != nullptr && t->wishes.priority < best.task->wishes.priority) break;
      const auto [where, missing] = nearest(view, *t);
      if (where == nullptr || missing >= best_missing) continue;
      best = {t, where};
      before_best = before;
      best_missing = missing;
      const bool fits = where->used() + missing <= where->capacity();
      if (missing == 0 || fits || num_overtaken_ >= patience) break;  // else something would have to go for it
    }
    if (best.task == nullptr) return {};
    num_overtaken_ = before_best == nullptr ? 0 : num_overtaken_ + 1;
    ready_.take_after(before_best);
    return best;
  }

 private:
  struct nearness {
    place* where = nullptr;
    std::uint64_t missing = UINT64_MAX;
  };
  // A task whose best place is full waits for it, unless another has its data as well.
  static nearness nearest(const placement_view& view, const task_node& t) {
    const auto& places = view.places();
    if (places.size() == 1) return view.has_room(*places[0]) ? nearness{places[0].get(), 0} : nearness{};
    nearness best;
    for (const auto& p : places) {
      if (!view.eligible(t, *p)) continue;
      const std::uint64_t missing = view.missing_bytes(t, *p);
      if (preferred(*p, best.where, missing, best.missing)) best = {p.get(), missing};
    }
    if (const nearness other = idle_instead(view, t, best.where); other.where != nullptr) best = other;
    if (best.where != nullptr && !view.has_room(*best.where)) return {};
    return best;
  }

  /// A device with nothing to do, where the one with the data has as much as it has streams. What the task reads is
  /// there then, too, so that those which read the same may run at either.
  static nearness idle_instead(const placement_view& view, const task_node& t, place* of) {
    if (of == nullptr || of->is_host() || of->num_tasks_under_way < of->compute().size()) return {};
    nearness best;
    for (const auto& p : view.places()) {
      if (p->is_host() || p->num_tasks_under_way > 0 || !view.eligible(t, *p) || !view.has_room(*p)) continue;
      const std::uint64_t missing = view.missing_bytes(t, *p);
      if (missing < best.missing && p->used() + t.bytes <= p->capacity()) best = {p.get(), missing};
    }
    return best.where != nullptr && could_move(t) ? best : nearness{};
  }

  static constexpr int look_ahead = 2048;  // tasks that are looked at for one that moves nothing
  static constexpr int patience = 10'000;  // so often the first may be overtaken
  ready_list ready_;
  int num_overtaken_ = 0;
};

class round_robin final : public placement_policy {
 public:
  void push(task_node& t) override { ready_.push(t); }

  choice pop(const placement_view& view) override {
    task_node* const t = ready_.first();
    if (t == nullptr) return {};
    const auto& places = view.places();
    place* host = nullptr;
    bool could_elsewhere = false;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t n = (turn_ + i) % places.size();
      place& p = *places[n];
      if (!view.eligible(*t, p)) continue;
      if (p.is_host()) {
        host = &p;
        continue;
      }
      could_elsewhere = true;
      if (!view.has_room(p)) continue;
      turn_ = n + 1;
      return {ready_.take_after(nullptr), &p};
    }
    if (host == nullptr || could_elsewhere || !view.has_room(*host)) return {};
    return {ready_.take_after(nullptr), host};
  }

 private:
  ready_list ready_;
  std::size_t turn_ = 1;
};

}  // namespace

std::unique_ptr<placement_policy> make_placement_policy(std::string_view name, cost_store* costs) {
  if (name == "locality") return std::make_unique<locality>();
  if (name == "round_robin") return std::make_unique<round_robin>();
  if (name == "shortest_finish") {
    return costs != nullptr ? std::make_unique<shortest_finish>(*costs) : std::make_unique<shortest_finish>();
  }
  throw config_error(
      fmt::format("there is no placement policy '{}': use locality, round_robin or shortest_finish", name));
}

}  // namespace imbrex
