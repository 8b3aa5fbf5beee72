#include "tree/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "imbrex/base/error.h"
#include "tree/exploration.h"
#include "tree/named_trees.h"

/// Trees are the benchmark's, node for node.
namespace uts {
namespace tree_test {
namespace {

tree_counts count(const tree_parameters& p) {
  return explore_all(tree(p), [](std::int64_t) {});
}

std::string hexadecimal(const stream_state& s) {
  std::string text;
  for (const unsigned char c : s) text += "0123456789abcdef"[c >> 4], text += "0123456789abcdef"[c & 15];
  return text;
}

TEST(uts_stream, is_sha1_of_parent_and_number_in_big_endian) {
  // printf '%032d%08x' 0 42 | xxd -r -p | sha1sum; the next by its digest and 00000007
  const stream_state root = root_state(42);
  EXPECT_EQ(hexadecimal(root), "a11dabbcec7aab309c890ab3dbc256eaeb582782");
  EXPECT_EQ(hexadecimal(child_state(root, 7)), "bbd637149e7461c20890f6f031ff76114732b7d0");
}

TEST(uts_stream, draws_numbers_from_0_to_below_1) {
  stream_state s{};
  EXPECT_EQ(drawn_from(s), 0);
  s.fill(0xff);
  EXPECT_EQ(drawn_from(s), 1 - std::ldexp(1.0, -31)) << "the topmost bit does not count";
  s = {};
  s[16] = 0x40;
  EXPECT_EQ(drawn_from(s), 0.5);
}

TEST(uts_tree, small_workloads_have_the_published_counts) {
  for (const char* const name : {"T1", "T2", "T3", "T4", "T5"}) {
    const named_tree& t = find_tree(name);
    EXPECT_EQ(count(t.parameters), t.counts) << name;
  }
}

TEST(uts_tree, balanced_trees_are_counted_by_a_formula) {
  tree_parameters p;
  p.kind = tree_kind::balanced;
  p.root_branching = 3;
  p.depth = 7;
  EXPECT_EQ(count(p), (tree_counts{(2187 * 3 - 1) / 2, 2187, 7}));
}

TEST(uts_tree, exponential_shape_widens_as_a_power_of_the_depth) {
  tree_parameters p;
  p.shape = tree_shape::exponential;
  p.depth = 4;
  p.root_branching = 4;
  p.seed = 1;
  const tree t(p);
  node n = t.root();
  n.state = {};
  n.state[16] = 0x7f;  // nearly the most that can be drawn
  EXPECT_GT(t.num_children(n), 0);
  const int at_root = t.num_children(n);
  n.depth = 4;  // a mean of 4 * 4^-1
  EXPECT_LT(t.num_children(n), at_root);
  n.depth = 1'000'000;  // beyond all tables
  EXPECT_GE(t.num_children(n), 0);
}

TEST(uts_tree, no_node_has_more_than_a_hundred_children_but_a_binomial_root) {
  tree_parameters p = find_tree("T1").parameters;
  p.root_branching = 1e6;
  const tree t(p);
  node n = t.root();
  n.state.fill(0xff);
  EXPECT_EQ(t.num_children(n), 100);
  EXPECT_EQ(tree(find_tree("T3").parameters).num_children(n), 2000);
}

TEST(uts_exploration, stops_at_its_grain_and_goes_on_from_what_is_left) {
  const named_tree& t = find_tree("T5");
  const tree known(t.parameters);
  tree_counts counts;
  std::vector<node> stack{known.root()};
  explore(known, stack, 1, counts);
  EXPECT_EQ(counts.nodes, 1);
  EXPECT_EQ(static_cast<int>(stack.size()), known.num_children(known.root()));
  explore(known, stack, 999, counts);
  EXPECT_EQ(counts.nodes, 1000);
  while (!stack.empty()) {  // part by part, in another order
    std::vector<node> part{stack.front()};
    stack.erase(stack.begin());
    explore(known, part, t.counts.nodes, counts);
  }
  EXPECT_EQ(counts, t.counts);
}

}  // namespace
}  // namespace tree_test
}  // namespace uts
