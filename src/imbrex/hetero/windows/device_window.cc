#include "imbrex/hetero/windows/device_window.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/hetero/coherence/place.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/windows/recorded_window.h"

namespace imbrex {

// ------------------------------------------------------------------------------------------------ once

/// What comes after what, as for tasks that are submitted: readers wait for the last writer, a writer for all since;
/// but each device for what is done with its own copies.
class device_window::step_order {
 public:
  step_order(device_window& of, const std::vector<std::uint8_t>& device_of) : of_(of), w_(of.window_) {
    for (std::size_t i = 0; i < w_.tasks.size(); ++i) {
      for (const task_access& a : w_.tasks[i]->uses()) {
        if (writes(a.mode)) home_[a.data] = device_of[i];
      }
    }
    for (const recorded_window::use& u : w_.uses) {
      if (home_.contains(u.data) && reads(u.mode)) newest_[u.data] = {home_.at(u.data)};
    }
    auto dependency = w_.orders.begin();
    for (std::size_t i = 0; i < w_.tasks.size(); ++i) {
      std::vector<std::uint32_t> after;
      for (; dependency != w_.orders.end() && dependency->first == w_.tasks[i]->age; ++dependency) {
        after.push_back(step_of_[dependency->second - 1]);
      }
      add_task(*w_.tasks[i], device_of[i], std::move(after));
    }
  }

 private:
  struct history {
    std::uint32_t writer = nobody;
    std::vector<std::uint32_t> readers;
  };

  void add_task(task_node& t, std::uint8_t device, std::vector<std::uint32_t> after) {
    step s;
    s.task = &t;
    s.device = device;
    for (const task_access& a : t.uses()) {
      if (reads(a.mode)) bring(*a.data, device);
      s.arguments.push_back(use_of(*a.data, device));
    }
    for (std::size_t i = 0; i < s.arguments.size(); ++i) precede(s.arguments[i], t.accesses[i].mode, after);
    const auto number = static_cast<std::uint32_t>(of_.steps_.size());
    for (std::size_t i = 0; i < s.arguments.size(); ++i) used(s.arguments[i], t.accesses[i].mode, number);
    for (const task_access& a : t.uses()) {
      if (writes(a.mode)) newest_[a.data] = {device};
    }
    step_of_.push_back(number);
    of_.add(std::move(s), after);
  }

  void bring(hetero_data& d, std::uint8_t device) {
    const auto found = newest_.find(&d);
    if (found == newest_.end() || std::ranges::find(found->second, device) != found->second.end()) return;
    step s;
    s.device = device;
    s.arguments = {use_of(d, device), use_of(d, found->second.front())};
    std::vector<std::uint32_t> after;
    precede(s.arguments[0], access_mode::write, after);
    precede(s.arguments[1], access_mode::read, after);
    const auto number = static_cast<std::uint32_t>(of_.steps_.size());
    used(s.arguments[0], access_mode::write, number);
    used(s.arguments[1], access_mode::read, number);
    found->second.push_back(device);
    of_.add(std::move(s), after);
  }

  void precede(std::uint32_t use, access_mode m, std::vector<std::uint32_t>& after) const {
    const history& h = histories_[use];
    if (h.writer != nobody) after.push_back(h.writer);
    if (writes(m)) after.insert(after.end(), h.readers.begin(), h.readers.end());
  }

  void used(std::uint32_t use, access_mode m, std::uint32_t step) {
    history& h = histories_[use];
    if (writes(m)) {
      h.writer = step;
      h.readers.clear();
    } else if (h.writer != step) {
      h.readers.push_back(step);
    }
  }

  /// Found or made.
  std::uint32_t use_of(hetero_data& d, std::uint8_t device) {
    const auto [at, is_new] = numbers_.try_emplace({&d, device}, static_cast<std::uint32_t>(of_.uses_.size()));
    if (!is_new) return at->second;
    const auto home = home_.find(&d);
    if (home == home_.end()) {
      of_.uses_.push_back({&d, access_mode::read});
    } else if (home->second == device) {
      of_.uses_.push_back({&d, mode_of(d)});
    } else {
      of_.own_.push_back(w_.domain->copies().make(*w_.domain, d.bytes));
      ++of_.own_.back()->references;
      of_.uses_.push_back({of_.own_.back(), access_mode::write});
    }
    of_.places_.push_back(of_.devices_[device]);
    histories_.emplace_back();
    return at->second;
  }

  access_mode mode_of(const hetero_data& d) const {
    return std::ranges::find(w_.uses, &d, &recorded_window::use::data)->mode;
  }

  device_window& of_;
  const recorded_window& w_;
  std::unordered_map<const hetero_data*, std::uint8_t> home_;                 // of what changes
  std::unordered_map<const hetero_data*, std::vector<std::uint8_t>> newest_;  // of the same: which devices have that
  std::map<std::pair<const hetero_data*, std::uint8_t>, std::uint32_t> numbers_;
  std::vector<history> histories_;  // by use
  std::vector<std::uint32_t> step_of_;
};

device_window::device_window(const recorded_window& w, std::vector<place*> devices,
                             const std::vector<std::uint8_t>& device_of)
    : window_(w), devices_(std::move(devices)) {
  make_lines();
  step_order(*this, device_of);
}

device_window::~device_window() {
  for (hetero_data* d : own_) window_.domain->copies().release(d);
}

/// As many of a device as it has lanes for kernels, and one for what comes from the others.
void device_window::make_lines() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const auto device = static_cast<std::uint8_t>(d);
    for (std::size_t i = 0; i < devices_[d]->num_compute_lanes(); ++i) lines_.emplace_back().device = device;
    if (devices_.size() == 1) continue;
    line& l = lines_.emplace_back();
    l.device = device;
    l.copies = true;
  }
  for (line& l : lines_) l.known.resize(lines_.size(), 0);
}

void device_window::add(step s, const std::vector<std::uint32_t>& after) {
  s.line = choose_line(s, after);
  std::vector<std::uint32_t> last(lines_.size(), 0);
  for (const std::uint32_t a : after) last[steps_[a].line] = std::max(last[steps_[a].line], a + 1);
  line& own = lines_[s.line];
  for (std::uint32_t l = 0; l < last.size(); ++l) {
    if (l == s.line || last[l] <= own.known[l]) continue;
    own.known[l] = last[l];
    s.waits.push_back(last[l] - 1);
    steps_[last[l] - 1].awaited = true;
  }
  steps_.push_back(std::move(s));
  own.last = static_cast<std::uint32_t>(steps_.size());
}

/// Behind what it has to wait for, if that is the last in its line; else the line that was used longest ago.
std::uint32_t device_window::choose_line(const step& s, const std::vector<std::uint32_t>& after) const {
  const auto could_be = [&](const line& l) { return l.device == s.device && l.copies == (s.task == nullptr); };
  for (const std::uint32_t a : after) {
    const std::uint32_t l = steps_[a].line;
    if (could_be(lines_[l]) && lines_[l].last == a + 1) return l;
  }
  std::uint32_t best = nobody;
  for (std::uint32_t l = 0; l < lines_.size(); ++l) {
    if (could_be(lines_[l]) && (best == nobody || lines_[l].last < lines_[best].last)) best = l;
  }
  return best;
}

bool device_window::fits() const {
  return std::ranges::all_of(devices_, [&](const place* p) {
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < uses_.size(); ++i) bytes += places_[i] == p ? uses_[i].data->bytes : 0;
    return bytes <= p->capacity();
  });
}

// ------------------------------------------------------------------------------------------------ each time

task_node* device_window::run(stream& order) {
  const bool moved = has_moved();
  if (moved) graph_ = nullptr;
  if (!moved && graph_ == nullptr && can_be_graph_) graph_ = capture(order);
  was_graph_ = graph_ != nullptr;
  if (graph_ == nullptr) return enqueue(order);
  order.run(*graph_);
  return nullptr;
}

std::byte* device_window::memory_of(std::uint32_t use) const {
  return uses_[use].data->at(places_[use]->number()).memory;
}

/// Whether the objects are not where they were the last time.
bool device_window::has_moved() {
  bool moved = memory_.empty();
  memory_.resize(uses_.size());
  for (std::uint32_t i = 0; i < memory_.size(); ++i) {
    const std::byte* const now = memory_of(i);
    moved |= std::exchange(memory_[i], now) != now;
  }
  return moved;
}

/// Null where that is not possible, for instance because a task calls a function of the host.
std::unique_ptr<graph> device_window::capture(stream& order) {
  if (first().kind() == device_kind::cuda) {
    try {
      return order.capture([&] {
        if (enqueue(order) != nullptr) throw usage_error("a task of the window failed");
      });
    } catch (const error&) {
      for (const step& s : steps_) {
        if (s.task == nullptr) continue;
        s.task->fault = task_fault::none;
        s.task->extras().failure = nullptr;
      }
    }
  }
  can_be_graph_ = false;
  return nullptr;
}

/// By line. On the first device `order` is one of those that compute.
std::vector<stream*> device_window::streams(stream& order) const {
  std::vector<stream*> all;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    std::size_t left = devices_[d]->num_compute_lanes();
    if (d == 0) all.push_back(&order), --left;
    for (const auto& l : devices_[d]->compute()) {
      if (left > 0 && &**l != &order) all.push_back(&**l), --left;
    }
    if (devices_.size() > 1) all.push_back(&*devices_[d]->from_peers());
  }
  return all;
}

task_node* device_window::enqueue(stream& order) {
  const std::vector<stream*> all = streams(order);
  std::vector<event> ends(steps_.size());
  std::vector<bool> used(all.size(), false);
  used[0] = true;
  const event begin = order.record();  // all lines begin there, not behind the first steps of this one
  task_node* failed = nullptr;
  for (std::size_t i = 0; i < steps_.size() && failed == nullptr; ++i) {
    const step& s = steps_[i];
    stream& on = *all[s.line];
    if (!used[s.line]) on.wait(begin);
    used[s.line] = true;
    for (const std::uint32_t w : s.waits) on.wait(ends[w]);
    enqueue(s, on);
    if (s.task != nullptr && s.task->threw()) failed = s.task;
    if (s.awaited) ends[i] = on.record();
  }
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (used[i]) order.after(*all[i]);
  }
  return failed;
}

void device_window::enqueue(const step& s, stream& on) {
  std::vector<std::byte*> memory(s.arguments.size());
  std::ranges::transform(s.arguments, memory.begin(), [&](std::uint32_t use) { return memory_of(use); });
  if (s.task == nullptr) {
    const std::uint64_t bytes = uses_[s.arguments[0]].data->bytes;
    if (bytes > 0) on.pull(event(), memory[0], memory[1], bytes);
    return;
  }
  s.task->at = devices_[s.device];
  hetero_domain::call_on(*s.task, on, memory);
}

}  // namespace imbrex
