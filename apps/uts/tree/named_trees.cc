#include "tree/named_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "imbrex/base/error.h"

namespace uts {
namespace {

tree_parameters geometric(tree_shape shape, int depth, double b, std::uint32_t seed) {
  tree_parameters p;
  p.shape = shape;
  p.depth = depth;
  p.root_branching = b;
  p.seed = seed;
  return p;
}

tree_parameters binomial(double b, double q, int m, std::uint32_t seed) {
  tree_parameters p;
  p.kind = tree_kind::binomial;
  p.root_branching = b;
  p.inner_probability = q;
  p.branching = m;
  p.seed = seed;
  return p;
}

tree_parameters hybrid(int depth, double b, double q, int m, std::uint32_t seed) {
  tree_parameters p = binomial(b, q, m, seed);
  p.kind = tree_kind::hybrid;
  p.depth = depth;
  return p;
}

}  // namespace

/// Parameters and counts as in the benchmark's list of sample trees.
std::span<const named_tree> named_trees() {
  using enum tree_shape;
  static const std::array all{
      named_tree{"T1", geometric(fixed, 10, 4, 19), {4'130'071, 3'305'118, 10}},
      named_tree{"T2", geometric(cyclic, 16, 6, 502), {4'117'769, 2'342'762, 81}},
      named_tree{"T3", binomial(2000, 0.124875, 8, 42), {4'112'897, 3'599'034, 1572}},
      named_tree{"T4", hybrid(16, 6, 0.234375, 4, 1), {4'132'453, 3'108'986, 134}},
      named_tree{"T5", geometric(linear, 20, 4, 34), {4'147'582, 2'181'318, 20}},
      named_tree{"T1L", geometric(fixed, 13, 4, 29), {102'181'082, 81'746'377, 13}},
      named_tree{"T2L", geometric(cyclic, 23, 7, 220), {96'793'510, 53'791'152, 67}},
      named_tree{"T3L", binomial(2000, 0.200014, 5, 7), {111'345'631, 89'076'904, 17844}},
      named_tree{"T1XL", geometric(fixed, 15, 4, 29), {1'635'119'272, 1'308'100'063, 15}},
  };
  return all;
}

const named_tree& find_tree(std::string_view name) {
  std::string names;
  for (const named_tree& t : named_trees()) {
    if (name == t.name) return t;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", t.name);
  }
  throw imbrex::usage_error(
      fmt::format("--tree {} is unknown: use one of {}, or define one by -t and its like", name, names));
}

const named_tree* known_tree(const tree_parameters& p) {
  const auto found =
      std::ranges::find_if(named_trees(), [&](const named_tree& t) { return same_tree(t.parameters, p); });
  return found == named_trees().end() ? nullptr : &*found;
}

}  // namespace uts
