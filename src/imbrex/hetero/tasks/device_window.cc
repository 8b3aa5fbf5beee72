#include "imbrex/hetero/tasks/device_window.h"

#include <algorithm>
#include <unordered_map>

#include "imbrex/base/error.h"
#include "imbrex/hetero/coherence/place.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/recorded_window.h"

namespace imbrex {

device_window::device_window(const recorded_window& w, std::size_t num_lines)
    : window_(w), last_of_line_(num_lines, 0), known_(num_lines, std::vector<std::uint32_t>(num_lines, 0)) {
  order_steps(w);
}

// ------------------------------------------------------------------------------------------------ once

/// As for tasks that are submitted: readers wait for the last writer, a writer for all since.
void device_window::order_steps(const recorded_window& w) {
  constexpr std::uint32_t nobody = UINT32_MAX;
  struct history {
    std::uint32_t writer = nobody;
    std::vector<std::uint32_t> readers;
  };
  std::unordered_map<const hetero_data*, history> of;
  auto dependency = w.after.begin();
  std::vector<std::uint32_t> after;
  for (task_node* t : w.tasks) {
    const auto number = static_cast<std::uint32_t>(steps_.size());
    after.clear();
    for (const task_access& a : t->uses()) {
      const history& h = of[a.data];
      if (h.writer != nobody) after.push_back(h.writer);
      if (writes(a.mode)) after.insert(after.end(), h.readers.begin(), h.readers.end());
    }
    for (; dependency != w.after.end() && dependency->first == t->age; ++dependency) {
      after.push_back(static_cast<std::uint32_t>(dependency->second - 1));
    }
    for (const task_access& a : t->uses()) {
      history& h = of[a.data];
      if (writes(a.mode)) {
        h.writer = number;
        h.readers.clear();
      } else if (h.writer != number) {
        h.readers.push_back(number);
      }
    }
    steps_.emplace_back().task = t;
    place_step(number, after);
  }
}

void device_window::place_step(std::uint32_t number, const std::vector<std::uint32_t>& after) {
  step& s = steps_[number];
  s.line = choose_line(after);
  std::vector<std::uint32_t>& known = known_[s.line];
  std::vector<std::uint32_t> last(known.size(), 0);
  for (const std::uint32_t a : after) last[steps_[a].line] = std::max(last[steps_[a].line], a + 1);
  for (std::uint32_t line = 0; line < last.size(); ++line) {
    if (line == s.line || last[line] <= known[line]) continue;
    known[line] = last[line];
    s.waits.push_back(last[line] - 1);
    steps_[last[line] - 1].awaited = true;
  }
  last_of_line_[s.line] = number + 1;
}

/// Behind what it has to wait for, if that is the last in its line; else the line that was used longest ago.
std::uint32_t device_window::choose_line(const std::vector<std::uint32_t>& after) const {
  for (const std::uint32_t a : after) {
    if (last_of_line_[steps_[a].line] == a + 1) return steps_[a].line;
  }
  return static_cast<std::uint32_t>(std::min_element(last_of_line_.begin(), last_of_line_.end()) -
                                    last_of_line_.begin());
}

// ------------------------------------------------------------------------------------------------ each time

task_node* device_window::run(place& at, stream& order) {
  const bool moved = has_moved(at);
  if (moved) graph_ = nullptr;
  if (!moved && graph_ == nullptr && can_be_graph_) graph_ = capture(at, order);
  was_graph_ = graph_ != nullptr;
  if (graph_ == nullptr) return enqueue(at, order);
  order.run(*graph_);
  return nullptr;
}

/// Whether the objects are not where they were the last time.
bool device_window::has_moved(place& at) {
  const bool first = memory_.empty();
  memory_.resize(window_.uses.size());
  bool moved = first;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const std::byte* const now = window_.uses[i].data->at(at.number()).memory;
    moved |= std::exchange(memory_[i], now) != now;
  }
  return moved;
}

/// Null where that is not possible, for instance because a task calls a function of the host.
std::unique_ptr<graph> device_window::capture(place& at, stream& order) {
  if (at.kind() == device_kind::cuda) {
    try {
      return order.capture([&] {
        if (enqueue(at, order) != nullptr) throw usage_error("a task of the window failed");
      });
    } catch (const error&) {
      for (step& s : steps_) {
        s.task->fault = task_fault::none;
        s.task->extras().failure = nullptr;
      }
    }
  }
  can_be_graph_ = false;
  return nullptr;
}

task_node* device_window::enqueue(place& at, stream& order) {
  std::vector<stream*> lines{&order};
  for (const auto& l : at.compute()) {
    if (&**l != &order) lines.push_back(&**l);
  }
  std::vector<event> ends(steps_.size());
  std::vector<bool> used(lines.size(), false);
  used[0] = true;
  task_node* failed = nullptr;
  for (step& s : steps_) {
    stream& line = *lines[s.line];
    if (!used[s.line]) line.after(order);
    used[s.line] = true;
    for (const std::uint32_t w : s.waits) line.wait(ends[w]);
    s.task->at = &at;
    hetero_domain::call(*s.task, &line);
    if (s.task->threw()) failed = s.task;
    if (failed != nullptr) break;
    if (s.awaited) ends[static_cast<std::size_t>(&s - steps_.data())] = line.record();
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (used[i]) order.after(*lines[i]);
  }
  return failed;
}

}  // namespace imbrex
