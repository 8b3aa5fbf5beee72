#include "imbrex/hetero/windows/device_plan.h"

#include <algorithm>
#include <numeric>

namespace imbrex {

namespace {

constexpr std::uint32_t no_job = UINT32_MAX;

bool may_run(const window_jobs::job& j, int device) { return (j.may_run_on >> device & 1) != 0; }

int first_of(const window_jobs::job& j) {
  int device = 0;
  while (!may_run(j, device)) ++device;
  return device;
}

/// Calls `f(later, earlier, object)` for what each job waits for: readers for the last writer, which brings the object;
/// writers, with `no_job` for the object, for all since; and what they wait for besides.
template <class F>
void for_each_dependency(const window_jobs& w, F f) {
  struct history {
    std::uint32_t writer = no_job;
    std::vector<std::uint32_t> readers;
  };
  std::vector<history> of(w.ns_to_move.size());
  for (std::uint32_t i = 0; i < w.jobs.size(); ++i) {
    const window_jobs::job& j = w.jobs[i];
    for (const window_jobs::use& u : j.uses) {
      const history& h = of[u.object];
      if (h.writer != no_job) f(i, h.writer, reads(u.mode) ? u.object : no_job);
      if (writes(u.mode)) {
        for (const std::uint32_t r : h.readers) f(i, r, no_job);
      }
    }
    for (const std::uint32_t a : j.after) f(i, a, no_job);
    for (const window_jobs::use& u : j.uses) {
      history& h = of[u.object];
      if (writes(u.mode)) {
        h.writer = i;
        h.readers.clear();
      } else {
        h.readers.push_back(i);
      }
    }
  }
}

/// The devices while jobs are given to them, in an order in which they could run.
class schedule {
 public:
  explicit schedule(const window_jobs& w)
      : w_(w),
        free_(devices(), 0),
        link_free_(devices(), 0),
        came_(w.ns_to_move.size() * devices(), absent),
        is_somewhere_(w.ns_to_move.size(), false),
        changes_(w.ns_to_move.size(), false),
        ends_(w.jobs.size(), 0) {
    for (const window_jobs::job& j : w.jobs) {
      for (const window_jobs::use& u : j.uses) changes_[u.object] = changes_[u.object] || writes(u.mode);
    }
  }

  void begins_at(std::uint32_t object, int device) { came(object, device) = 0, is_somewhere_[object] = true; }

  double end_of(std::uint32_t job, int device) const {
    double begin = free_[at(device)];
    double link = link_free_[at(device)];
    for (const window_jobs::use& u : w_.jobs[job].uses) {
      if (reads(u.mode)) begin = std::max(begin, arrival(u.object, device, link));
    }
    for (const std::uint32_t a : w_.jobs[job].after) begin = std::max(begin, ends_[a]);
    return begin + w_.jobs[job].ns;
  }

  void give(std::uint32_t job, int device) {
    const double end = end_of(job, device);
    for (const window_jobs::use& u : w_.jobs[job].uses) {
      if (!reads(u.mode) || !changes_[u.object]) continue;
      const double when = arrival(u.object, device, link_free_[at(device)]);
      came(u.object, device) = when;
      is_somewhere_[u.object] = true;
    }
    for (const window_jobs::use& u : w_.jobs[job].uses) {
      if (!writes(u.mode)) continue;
      for (int d = 0; d < w_.num_devices; ++d) came(u.object, d) = absent;
      came(u.object, device) = end;
      is_somewhere_[u.object] = true;
    }
    free_[at(device)] = ends_[job] = end;
  }

  double end() const { return *std::max_element(free_.begin(), free_.end()); }

 private:
  static constexpr double absent = -1;
  static std::size_t at(int device) { return static_cast<std::size_t>(device); }
  std::size_t devices() const { return at(w_.num_devices); }
  double& came(std::uint32_t object, int device) { return came_[object * devices() + at(device)]; }
  double came(std::uint32_t object, int device) const { return came_[object * devices() + at(device)]; }

  /// When the object is there; the link is busy until then if it has to come. What nothing is known of is there, and so
  /// is what never changes.
  double arrival(std::uint32_t object, int device, double& link) const {
    const double here = came(object, device);
    if (here >= 0 || !is_somewhere_[object]) return std::max(here, 0.0);
    double first = -1;
    for (int d = 0; d < w_.num_devices; ++d) {
      const double there = came(object, d);
      if (there >= 0 && (first < 0 || there < first)) first = there;
    }
    return link = std::max(link, first) + w_.ns_to_move[object];
  }

  const window_jobs& w_;
  std::vector<double> free_, link_free_;  // by device: from when on
  std::vector<double> came_;              // by object and device: when its newest elements were there
  std::vector<bool> is_somewhere_;        // by object
  std::vector<bool> changes_;             // likewise
  std::vector<double> ends_;              // by job
};

device_plan planned(const window_jobs& w, std::vector<std::uint8_t> device_of) {
  const double ns = expected_ns(w, device_of);
  return {std::move(device_of), ns};
}

}  // namespace

double expected_ns(const window_jobs& w, const std::vector<std::uint8_t>& device_of) {
  std::vector<int> last_writer(w.ns_to_move.size(), -1);
  for (std::size_t i = 0; i < w.jobs.size(); ++i) {
    for (const window_jobs::use& u : w.jobs[i].uses) {
      if (writes(u.mode)) last_writer[u.object] = device_of[i];
    }
  }
  schedule s(w);
  for (std::uint32_t o = 0; o < last_writer.size(); ++o) {
    if (last_writer[o] >= 0) s.begins_at(o, last_writer[o]);
  }
  for (std::uint32_t i = 0; i < w.jobs.size(); ++i) s.give(i, device_of[i]);
  return s.end();
}

device_plan plan_by_rank(const window_jobs& w) {
  struct successor {
    std::uint32_t job;
    double ns;
  };
  std::vector<std::vector<successor>> after(w.jobs.size());
  for_each_dependency(w, [&](std::uint32_t later, std::uint32_t earlier, std::uint32_t object) {
    after[earlier].push_back({later, object != no_job ? w.ns_to_move[object] : 0});
  });
  std::vector<double> rank(w.jobs.size());
  for (std::size_t i = w.jobs.size(); i-- > 0;) {
    for (const successor& s : after[i]) rank[i] = std::max(rank[i], s.ns + rank[s.job]);
    rank[i] += std::max(w.jobs[i].ns, 1.0);
  }
  std::vector<std::uint32_t> order(w.jobs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order,
                    [&](std::uint32_t a, std::uint32_t b) { return rank[a] != rank[b] ? rank[a] > rank[b] : a < b; });
  schedule s(w);
  std::vector<std::uint8_t> device_of(w.jobs.size());
  for (const std::uint32_t i : order) {
    int best = -1;
    for (int d = 0; d < w.num_devices; ++d) {
      if (may_run(w.jobs[i], d) && (best < 0 || s.end_of(i, d) < s.end_of(i, best))) best = d;
    }
    s.give(i, best);
    device_of[i] = static_cast<std::uint8_t>(best);
  }
  return planned(w, std::move(device_of));
}

device_plan plan_by_levels(const window_jobs& w) {
  std::vector<std::uint32_t> level_of(w.jobs.size(), 0);
  for_each_dependency(w, [&](std::uint32_t later, std::uint32_t earlier, std::uint32_t) {
    level_of[later] = std::max(level_of[later], level_of[earlier] + 1);
  });
  std::vector<double> work;  // by level
  for (std::size_t i = 0; i < w.jobs.size(); ++i) {
    work.resize(std::max<std::size_t>(work.size(), level_of[i] + 1), 0);
    work[level_of[i]] += w.jobs[i].ns;
  }
  std::vector<double> before(work.size(), 0);
  std::vector<std::uint8_t> device_of(w.jobs.size());
  for (std::size_t i = 0; i < w.jobs.size(); ++i) {
    const window_jobs::job& j = w.jobs[i];
    const double middle = before[level_of[i]] + j.ns / 2;
    before[level_of[i]] += j.ns;
    const double whole = std::max(work[level_of[i]], 1.0);
    const int part = std::min(static_cast<int>(middle / whole * w.num_devices), w.num_devices - 1);
    device_of[i] = static_cast<std::uint8_t>(may_run(j, part) ? part : first_of(j));
  }
  return planned(w, std::move(device_of));
}

device_plan plan_over_devices(const window_jobs& w) {
  device_plan by_levels = plan_by_levels(w), by_rank = plan_by_rank(w);
  return by_rank.ns < by_levels.ns ? by_rank : by_levels;
}

}  // namespace imbrex
