#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// What defines a tree; the letters are the benchmark's options.
namespace uts {

/// -t: 0, 1, 2, 3. Binomial: many children at the root, below it either `branching` or none. Geometric: a number of
/// children drawn about a mean that depends on the depth. Hybrid: geometric near the root, binomial below. Balanced:
/// the same number of children at every node above the deepest.
enum class tree_kind : std::uint8_t { binomial, geometric, hybrid, balanced };
/// -a: 0, 1, 2, 3: how the mean number of children of geometric trees depends on the depth.
enum class tree_shape : std::uint8_t { linear, exponential, cyclic, fixed };

/// The defaults are the benchmark's.
struct tree_parameters {
  tree_kind kind = tree_kind::geometric;  ///< -t
  tree_shape shape = tree_shape::linear;  ///< -a, geometric and hybrid trees
  double root_branching = 4;              ///< -b: children of the root, or the mean of their number
  std::uint32_t seed = 0;                 ///< -r
  int depth = 6;                          ///< -d, all but binomial trees: what the shape counts in; see tree.h
  double shift = 0.5;                     ///< -f, hybrid trees: geometric above this part of `depth`
  double inner_probability = 15.0 / 64;   ///< -q, binomial and hybrid trees: that a node has children
  int branching = 4;                      ///< -m: and how many

  template <class Archive>
  void serialize(Archive& ar) {
    ar & kind & shape & root_branching & seed & depth & shift & inner_probability & branching;
  }
};

/// Whether they define the same tree: what the kind does not use is not compared.
bool same_tree(const tree_parameters& a, const tree_parameters& b);

/// Throws usage_error where a value cannot be used, or the tree would hardly end; named by its option.
void check(const tree_parameters& p);

/// Whether trees of its kind depend on the option "-a", "-d", "-b", "-r", "-f", "-q" or "-m".
bool depends_on(const tree_parameters& p, std::string_view option);

/// The options that ask for it: "-t 1 -a 3 -d 10 -b 4 -r 19".
std::string options_text(const tree_parameters& p);
/// In words: "geometric (fixed)".
std::string kind_text(const tree_parameters& p);

}  // namespace uts
