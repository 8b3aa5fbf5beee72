#include "imbrex/balance/balance_problem.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "imbrex/balance/example_problem.h"
#include "imbrex/base/error.h"
#include "unit/balance/small_problems.h"

namespace balance_problem_test {

using namespace imbrex;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(communication_graph, has_every_pair_in_both_rows) {
  const auto g = communication_graph::of(4, {{0, 2, 5}, {2, 1, 7}, {2, 0, 1}, {3, 3, 100}});
  EXPECT_THAT(g.first, ElementsAre(0, 1, 2, 4, 4));
  EXPECT_THAT(g.partner, ElementsAre(2, 2, 0, 1));
  EXPECT_THAT(g.bytes, ElementsAre(6, 7, 6, 7));
}

TEST(communication_graph, refuses_elements_that_there_are_not) {
  EXPECT_THROW(communication_graph::of(2, {{0, 2, 5}}), usage_error);
  EXPECT_THROW(communication_graph::of(2, {{-1, 1, 5}}), usage_error);
  EXPECT_THROW(communication_graph::of(2, {{0, 1, -5}}), usage_error);
  EXPECT_THROW(communication_graph::of(2, {{0, 1, std::nan("")}}), usage_error);
}

struct broken {
  const char* says;
  std::function<void(balance_problem&)> how;
};

TEST(check_problem, names_what_cannot_be) {
  example_options o;
  o.extents = {4, 2, 2};
  o.num_pes = 16;
  o.gpus_per_node = 1;
  o.gpu_share = 0.5;
  const balance_problem sound = example_problem(o);
  EXPECT_NO_THROW(check_problem(sound));
  const std::vector<broken> all{
      {"0 PEs", [](auto& p) { p.pes.clear(); }},
      {"PE 3 has rate 0", [](auto& p) { p.pes[3].rate = 0; }},
      {"PE 2 has background seconds -1", [](auto& p) { p.pes[2].background_seconds = -1; }},
      {"PE 1 uses GPU 2, but there are 2", [](auto& p) { p.pes[1].gpu = 2; }},
      {"GPU 0 is used by PEs of nodes 0 and 1", [](auto& p) { p.pes[8].gpu = 0; }},
      {"GPU 1 has rate inf", [](auto& p) { p.gpus[1].rate = INFINITY; }},
      {"PE 0 is of rank -1", [](auto& p) { p.pes[0].rank = -1; }},
      {"element 5 is on PE 16, but there are 16", [](auto& p) { p.elements[5].pe = 16; }},
      {"element 5 has host seconds nan", [](auto& p) { p.elements[5].host_seconds = std::nan(""); }},
      {"element 0 has GPU seconds -2", [](auto& p) { p.elements[0].gpu_seconds = -2; }},
      {"needs a GPU", [](auto& p) { p.pes[static_cast<std::size_t>(p.elements[0].pe)].gpu = no_gpu; }},
      {"15 places for 16 elements", [](auto& p) { p.places.pop_back(); }},
      {"places have 4 coordinates", [](auto& p) { p.num_dimensions = 4; }},
      {"the place of element 1", [](auto& p) { p.places[1][2] = INFINITY; }},
      {"16 rows", [](auto& p) { p.communication.first.pop_back(); }},
      {"exchanges", [](auto& p) { p.communication.partner[0] = 0; }},
      {"exchange", [](auto& p) { p.communication.bytes[0] += 1; }},
  };
  for (const broken& b : all) {
    balance_problem p = sound;
    b.how(p);
    try {
      check_problem(p);
      ADD_FAILURE() << "nothing was thrown: " << b.says;
    } catch (const usage_error& e) {
      EXPECT_THAT(e.what(), HasSubstr(b.says));
    }
  }
}

TEST(check_problem, takes_what_is_small) {
  balance_problem p;
  p.pes.resize(1);
  EXPECT_NO_THROW(check_problem(p));
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_NO_THROW(check_problem(small_problems::random_problem(seed, {12, 6, true, true, true, true}))) << seed;
  }
}

TEST(example_problem, is_the_same_for_the_same_options_and_has_no_empty_pe) {
  example_options o;
  o.extents = {10, 3, 2};
  o.num_pes = 7;
  const balance_problem p = example_problem(o);
  EXPECT_NO_THROW(check_problem(p));
  EXPECT_EQ(p.elements.size(), 60U);
  std::vector<int> num(7);
  for (const balance_element& e : p.elements) ++num[static_cast<std::size_t>(e.pe)];
  EXPECT_THAT(num, testing::Each(testing::Gt(0)));
  EXPECT_EQ(example_problem(o).elements[17].host_seconds, p.elements[17].host_seconds);
  o.turn = 0.5;
  EXPECT_NE(example_problem(o).elements[17].host_seconds, p.elements[17].host_seconds);
}

TEST(example_problem, refuses_what_makes_none) {
  example_options o;
  o.extents[1] = 0;
  EXPECT_THROW(example_problem(o), usage_error);
  o = {};
  o.num_pes = 0;
  EXPECT_THROW(example_problem(o), usage_error);
  o = {};
  o.gpu_share = 0.5;
  EXPECT_THROW(example_problem(o), usage_error) << "without GPUs";
}

}  // namespace

}  // namespace balance_problem_test
