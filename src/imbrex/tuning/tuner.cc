#include "imbrex/tuning/tuner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <set>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"
#include "imbrex/runtime/runtime.h"
#include "imbrex/virtual_time/machine/machine.h"

namespace imbrex {

namespace {

std::string name_of_processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "a processor";
}

std::string machine_of(const runtime& rt) {
  const virtual_time_options& simulated = rt.options().virtual_time;
  std::string text = name_of_processor();
  if (simulated.is_wanted()) {
    const std::uint64_t digest = hash_bytes(text_of_machine(simulated.machine));
    text = fmt::format("{} x {} (simulated, {:016x})", simulated.nodes, simulated.machine, digest);
  }
  text += fmt::format(", {} ranks of {} PEs", rt.num_ranks(), rt.pes_per_rank());
  if (rt.num_gpus() > 0) text += fmt::format(", {} x {} each", rt.num_gpus(), rt.gpu(0).name());
  if (rt.num_gpus() > 0) text += fmt::format(", completion by {}", to_string(rt.options().completion));
  return text;
}

std::string text_of(const std::vector<tuning_parameter>& all) {
  std::string text;
  for (const tuning_parameter& p : all) text += fmt::format("{} {}; ", p.name, fmt::join(p.values, " "));
  return text;
}

std::vector<tuning_parameter> checked(std::vector<tuning_parameter> all) {
  if (all.empty()) throw usage_error("a tuner needs a parameter to choose");
  std::set<std::string> names;
  for (const tuning_parameter& p : all) {
    if (p.name.empty()) throw usage_error("a parameter of a tuner has no name");
    if (!names.insert(p.name).second) throw usage_error(fmt::format("a tuner has two parameters '{}'", p.name));
    if (p.values.empty()) throw usage_error(fmt::format("parameter '{}' of a tuner has no values", p.name));
  }
  return all;
}

std::vector<line_search::axis> axes_of(const std::vector<tuning_parameter>& all) {
  std::vector<line_search::axis> axes;
  axes.reserve(all.size());
  for (const tuning_parameter& p : all) axes.push_back({p.values.size(), p.ordered});
  return axes;
}

}  // namespace

tuner::tuner(const runtime& rt, std::string program, std::string problem, std::vector<tuning_parameter> parameters,
             int most_trials)
    : tuner(machine_of(rt), tuning_memory::path_of(rt.options().tuning_file), std::move(program), std::move(problem),
            std::move(parameters), most_trials) {}

tuner::tuner(std::string machine, std::string path, std::string program, std::string problem,
             std::vector<tuning_parameter> parameters, int most_trials)
    : parameters_(checked(std::move(parameters))),
      memory_(std::move(path)),
      subject_{std::move(program), std::move(problem), std::move(machine), text_of(parameters_)},
      search_(axes_of(parameters_), most_trials) {
  const auto found = memory_.find(subject_);
  if (!found || !is_offered(*found)) return;
  tuning_point p = at(line_search::place(parameters_.size(), 0));
  remembered_ = tuning_point(p.names(), *found);
}

bool tuner::is_offered(const std::vector<int>& values) const {
  if (values.size() != parameters_.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::ranges::find(parameters_[i].values, values[i]) == parameters_[i].values.end()) return false;
  }
  return true;
}

tuning_point tuner::at(const line_search::place& p) const {
  std::vector<std::string> names;
  std::vector<int> values;
  names.reserve(p.size());
  values.reserve(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    names.push_back(parameters_[i].name);
    values.push_back(parameters_[i].values[p[i]]);
  }
  return {std::move(names), std::move(values)};
}

std::optional<tuning_point> tuner::next() {
  if (is_over()) return std::nullopt;
  was_asked_ = true;
  return at(*search_.next());
}

void tuner::tell(double cost) {
  if (is_over()) throw usage_error("a tuner was told a cost, but has nothing to try: ask next() first");
  if (!was_asked_)
    throw usage_error("a tuner was told a cost of what it has not given out: ask next() before each tell");
  if (std::isnan(cost) || cost < 0)
    throw usage_error(fmt::format("a tuner was told that {} costs {}: that is no cost", next()->text(), cost));
  was_asked_ = false;
  search_.tell(cost);
  if (is_over()) keep();
}

void tuner::stop() {
  if (is_over()) return;
  is_stopped_ = true;
  keep();
}

void tuner::keep() const {
  if (std::isfinite(search_.best_cost())) memory_.keep(subject_, best(), search_.best_cost());
}

tuning_point tuner::best() const {
  if (remembered_) return *remembered_;
  if (!std::isfinite(search_.best_cost()))
    throw usage_error(
        fmt::format("nothing that was tried for {} can be done: {} trials", subject_.program, search_.num_trials()));
  return at(search_.best());
}

}  // namespace imbrex
