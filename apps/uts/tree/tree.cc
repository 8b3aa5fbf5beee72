#include "tree/tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace uts {
namespace {

/// The mean number of children of a node of a geometric tree at this depth. Exponential: the width of the tree is a
/// power of the depth.
double mean_children(const tree_parameters& p, std::int32_t depth) {
  const double b = p.root_branching;
  if (depth == 0) return b;
  const double at = depth, scale = p.depth;
  switch (p.shape) {
    case tree_shape::linear: return b * (1.0 - at / scale);
    case tree_shape::exponential: return b * std::pow(at, -std::log(b) / std::log(scale));
    case tree_shape::cyclic: return at > 5 * scale ? 0 : std::pow(b, std::sin(2.0 * std::numbers::pi * at / scale));
    case tree_shape::fixed: break;
  }
  return at < scale ? b : 0;
}

/// The logarithm of the probability that there is one child more, which is the same after any number of them; minus
/// infinity where there is none.
double log_of_one_more(const tree_parameters& p, std::int32_t depth) {
  const double mean = mean_children(p, depth);
  if (!(mean > 0)) return -std::numeric_limits<double>::infinity();
  return std::log(1.0 - 1.0 / (1.0 + mean));
}

}  // namespace

tree::tree(const tree_parameters& p) : parameters_(p) {
  constexpr std::int64_t most_kept = 4096;
  if (p.kind == tree_kind::geometric || p.kind == tree_kind::hybrid)
    log_of_more_.resize(static_cast<std::size_t>(std::min(most_kept, 5 * std::int64_t{p.depth} + 2)));
  for (std::size_t d = 0; d < log_of_more_.size(); ++d) log_of_more_[d] = log_of_one_more(p, static_cast<int>(d));
}

double tree::log_of_more(std::int32_t depth) const {
  const auto d = static_cast<std::size_t>(depth);
  return d < log_of_more_.size() ? log_of_more_[d] : log_of_one_more(parameters_, depth);
}

int tree::binomial(const node& n) const {
  return drawn_from(n.state) < parameters_.inner_probability ? parameters_.branching : 0;
}

int tree::geometric(const node& n) const {
  const double children = std::floor(std::log(1.0 - drawn_from(n.state)) / log_of_more(n.depth));
  return static_cast<int>(std::min(children, double{most_children}));
}

int tree::num_children(const node& n) const {
  const tree_parameters& p = parameters_;
  switch (p.kind) {
    case tree_kind::binomial: return n.depth == 0 ? static_cast<int>(p.root_branching) : binomial(n);
    case tree_kind::geometric: return geometric(n);
    case tree_kind::hybrid: return n.depth < p.shift * p.depth ? geometric(n) : binomial(n);
    case tree_kind::balanced: break;
  }
  return n.depth < p.depth ? static_cast<int>(p.root_branching) : 0;
}

}  // namespace uts
