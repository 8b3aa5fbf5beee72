#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "imbrex/balance/balance_strategy.h"
#include "imbrex/balance/strategies/partition.h"
#include "imbrex/balance/strategies/strategies.h"
#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#if IMBREX_HAVE_METIS
#include "imbrex/balance/strategies/metis_partition.h"
#endif

namespace imbrex {

namespace {

using made = std::unique_ptr<balance_strategy>;

template <class Strategy>
made make() {
  return std::make_unique<Strategy>();
}

made make_graph() {
#if IMBREX_HAVE_METIS
  return std::make_unique<graph_strategy>();
#else
  throw not_built("strategy 'graph' needs METIS, which this build has not (" IMBREX_NOTE_METIS
                  "): install libmetis-dev and configure again, or choose comm_refine");
#endif
}

struct built_in {
  const char* name;
  made (*make)();
  const char* description;
  bool is_built = true;
};
constexpr std::array<built_in, 9> own{{
    {"none", &make<no_strategy>, "nobody moves: what the others are compared with"},
    {"greedy", &make<greedy_strategy>, "heaviest elements first, each to where it is done first; nearly all move"},
    {"refine", &make<refine_strategy>, "those with too much give just that away; few moves"},
    {"comm_refine", &make<comm_refine_strategy>, "as refine, and elements go to those with which they exchange most"},
    {"diffusion", &make<diffusion_strategy>, "neighbouring PEs even out, pair by pair, without a centre"},
    {"hierarchical", &make<hierarchical_strategy>, "nodes first, then ranks, then PEs; little leaves a node"},
    {"rcb", &make<rcb_strategy>, "cuts space in two, again and again: boxes of even weight; needs places"},
    {"sfc", &make<sfc_strategy>, "cuts a Hilbert curve through space into pieces of even weight; needs places"},
    {"graph", &make_graph, "METIS cuts who exchanges with whom: few bytes, without places; takes longest",
     IMBREX_HAVE_METIS != 0},
}};

struct registered {
  std::string name;
  strategy_factory make;
  std::string description;
};
struct all_registered {
  std::mutex mutex;
  std::vector<registered> list;
};
all_registered& of_the_program() {
  static all_registered all;
  return all;
}

}  // namespace

void register_strategy(const std::string& name, strategy_factory make, const std::string& description) {
  if (name.empty() || !make) {
    throw usage_error(
        fmt::format("a balancing strategy '{}' cannot be registered: give a name and a function that makes it", name));
  }
  all_registered& all = of_the_program();
  const std::lock_guard lock(all.mutex);
  const bool exists = std::ranges::any_of(own, [&](const built_in& b) { return b.name == name; }) ||
                      std::ranges::any_of(all.list, [&](const registered& r) { return r.name == name; });
  if (exists) throw usage_error(fmt::format("there is a balancing strategy '{}' already: choose another name", name));
  all.list.push_back({name, std::move(make), description});
}

std::unique_ptr<balance_strategy> make_strategy(const std::string& name) {
  std::string names;
  for (const built_in& b : own) {
    if (b.name == name) return b.make();
    names += fmt::format("{}{}", names.empty() ? "" : ", ", b.name);
  }
  strategy_factory make_it;
  {
    all_registered& all = of_the_program();
    const std::lock_guard lock(all.mutex);
    for (const registered& r : all.list) {
      if (r.name == name) make_it = r.make;
      names += ", " + r.name;
    }
  }
  if (make_it) {
    made strategy = make_it();
    if (strategy == nullptr)
      throw usage_error(fmt::format("the factory of balancing strategy '{}' gave none: it has to make one", name));
    return strategy;
  }
  throw usage_error(
      fmt::format("there is no balancing strategy '{}', but {}: use one of these, or add yours by "
                  "imbrex::register_strategy",
                  name, names));
}

std::vector<strategy_facts> known_strategies() {
  std::vector<strategy_facts> facts;
  facts.reserve(own.size());
  for (const built_in& b : own) facts.push_back({b.name, b.description, b.is_built});
  all_registered& all = of_the_program();
  const std::lock_guard lock(all.mutex);
  for (const registered& r : all.list) facts.push_back({r.name, r.description, true});
  return facts;
}

}  // namespace imbrex
