#include "imbrex/hetero/placement/placement.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/placement/locality.h"
#include "imbrex/hetero/placement/round_robin.h"
#include "imbrex/hetero/placement/shortest_finish.h"

namespace imbrex {

namespace {

struct named_policy {
  std::string name;
  policy_factory make;
};
struct own_policies {
  std::mutex mutex;
  std::vector<named_policy> all;
};
own_policies& policies_of_the_program() {
  static own_policies p;
  return p;
}

constexpr const char* built_in[] = {"locality", "round_robin", "shortest_finish"};

}  // namespace

void add_placement_policy(const std::string& name, policy_factory make) {
  own_policies& own = policies_of_the_program();
  const std::lock_guard lock(own.mutex);
  const auto same = [&](const named_policy& p) { return p.name == name; };
  if (std::ranges::find(built_in, name) != std::end(built_in) || std::ranges::any_of(own.all, same)) {
    throw usage_error(fmt::format("there is a placement policy '{}' already: choose another name", name));
  }
  own.all.push_back({name, std::move(make)});
}

std::unique_ptr<placement_policy> make_placement_policy(std::string_view name, cost_store* costs) {
  if (name == "locality") return std::make_unique<locality>();
  if (name == "round_robin") return std::make_unique<round_robin>();
  if (name == "shortest_finish") {
    return costs != nullptr ? std::make_unique<shortest_finish>(*costs) : std::make_unique<shortest_finish>();
  }
  own_policies& own = policies_of_the_program();
  const std::lock_guard lock(own.mutex);
  std::string names = "locality, round_robin, shortest_finish";
  for (const named_policy& p : own.all) {
    if (p.name == name) return p.make();
    names += ", " + p.name;
  }
  throw config_error(
      fmt::format("there is no placement policy '{}', but {}: use one of these, or add yours by "
                  "imbrex::add_placement_policy before imbrex::run",
                  name, names));
}

}  // namespace imbrex
