#include "imbrex/hetero/shortest_finish.h"

#include <bit>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {
constexpr double bytes_per_ns = 20;  // what links bring, roughly; the tasks' own times are measured
constexpr double slow_to_forget = 0.1;
}  // namespace

cost_model::key cost_model::key_of(const task_node& t, const place& p) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < t.num_accesses; ++i) bytes += t.accesses[i].data->bytes;
  return {t.wishes.name, static_cast<int>(std::bit_width(bytes)), p.is_host() ? "host" : p.on().name()};
}

void cost_model::learn(const key& k, double nanoseconds) {
  mean& m = known_[k];
  ++m.samples;
  const double weight = std::max(1.0 / static_cast<double>(m.samples), slow_to_forget);
  m.nanoseconds += weight * (nanoseconds - m.nanoseconds);
}

const cost_model::mean* cost_model::find(const key& k) const {
  const auto found = known_.find(k);
  return found == known_.end() ? nullptr : &found->second;
}

void cost_model::read(const std::string& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    key k;
    mean m;
    if (!(words >> m.samples >> m.nanoseconds >> k.size)) continue;
    words.get();
    if (std::getline(words, k.place, '\t') && std::getline(words, k.name)) known_[k] = m;
  }
}

void cost_model::write(const std::string& file) const {
  const std::string fresh = file + ".new";
  {
    std::ofstream out(fresh);
    for (const auto& [k, m] : known_)
      out << fmt::format("{}\t{:.1f}\t{}\t{}\t{}\n", m.samples, m.nanoseconds, k.size, k.place, k.name);
    out.flush();
    if (!out) throw config_error(fmt::format("{} cannot be written: what tasks take is kept there", file));
  }
  if (std::rename(fresh.c_str(), file.c_str()) != 0) throw config_error(fmt::format("{} cannot be replaced", file));
}

shortest_finish::shortest_finish(std::string file) : file_(std::move(file)) {
  if (!file_.empty()) costs_.read(file_);
}

shortest_finish::~shortest_finish() {
  if (file_.empty()) return;
  try {
    costs_.write(file_);
  } catch (const error&) {  // the next run learns anew
  }
}

double shortest_finish::expected(const placement_view& view, const task_node& t, const place& p) const {
  const cost_model::mean* const known = costs_.find(cost_model::key_of(t, p));
  if (known == nullptr) return 0;
  const auto busy = backlog_ns_.find(&p);
  return (busy == backlog_ns_.end() ? 0 : busy->second) + known->nanoseconds +
         static_cast<double>(view.missing_bytes(t, p)) / bytes_per_ns;
}

placement_policy::choice shortest_finish::pop(const placement_view& view) {
  task_node* const t = ready_.first();
  if (t == nullptr) return {};
  choice best;
  double best_end = 0;
  for (const auto& p : view.places()) {
    if (!view.eligible(*t, *p)) continue;
    const double end = expected(view, *t, *p);
    if (best.at != nullptr && end >= best_end) continue;
    best = {t, p.get()};
    best_end = end;
  }
  if (best.at == nullptr || !view.has_room(*best.at)) return {};
  ready_.take_after(nullptr);
  const cost_model::mean* const known = costs_.find(cost_model::key_of(*t, *best.at));
  if (known != nullptr) {
    expected_ns_[t] = known->nanoseconds;
    backlog_ns_[best.at] += known->nanoseconds;
  }
  return best;
}

void shortest_finish::finished(const task_node& t, std::int64_t nanoseconds) {
  if (t.at == nullptr) return;
  costs_.learn(cost_model::key_of(t, *t.at), static_cast<double>(nanoseconds));
  if (const auto found = expected_ns_.find(&t); found != expected_ns_.end()) {
    backlog_ns_[t.at] -= found->second;
    expected_ns_.erase(found);
  }
}

}  // namespace imbrex
