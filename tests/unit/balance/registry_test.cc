#include <gmock/gmock.h>

#include <algorithm>

#include "imbrex/balance/balance_strategy.h"
#include "imbrex/base/error.h"

namespace registry_test {

using namespace imbrex;
using testing::AllOf;
using testing::HasSubstr;

namespace {

/// Everything to PE 0.
struct all_to_one final : balance_strategy {
  balance_plan plan(const balance_problem& p) const override {
    return plan_to(p, std::vector<int>(p.elements.size(), 0));
  }
};

template <class What>
std::string message_of(What what) {
  try {
    what();
  } catch (const usage_error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(strategy_registry, has_those_of_imbrex_with_a_line_each) {
  std::vector<std::string> names;
  for (const strategy_facts& f : known_strategies()) {
    if (names.size() == 9) break;  // behind them stand those of tests before
    names.push_back(f.name);
    EXPECT_FALSE(f.description.empty()) << f.name;
    EXPECT_EQ(f.description.find('\n'), std::string::npos) << f.name;
    EXPECT_TRUE(!f.is_built || make_strategy(f.name) != nullptr);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("none", "greedy", "refine", "comm_refine", "diffusion",
                                                   "hierarchical", "rcb", "sfc", "graph"));
}

TEST(strategy_registry, takes_those_of_programs) {
  register_strategy("all_to_one", [] { return std::make_unique<all_to_one>(); }, "everything to PE 0");
  balance_problem p;
  p.pes.resize(2);
  p.elements.resize(3);
  p.elements[1].pe = 1;
  EXPECT_EQ(make_strategy("all_to_one")->plan(p).moves, (std::vector<balance_move>{{1, 0}}));
  EXPECT_EQ(known_strategies().back().description, "everything to PE 0");
  const auto again = [] { register_strategy("all_to_one", [] { return std::make_unique<all_to_one>(); }); };
  EXPECT_THAT(message_of(again), HasSubstr("'all_to_one' already"));
  const auto of_ours = [] { register_strategy("greedy", [] { return std::make_unique<all_to_one>(); }); };
  EXPECT_THAT(message_of(of_ours), HasSubstr("'greedy' already"));
  EXPECT_THAT(message_of([] { register_strategy("", [] { return std::make_unique<all_to_one>(); }); }),
              HasSubstr("cannot be registered"));
  EXPECT_THAT(message_of([] { register_strategy("mine", nullptr); }), HasSubstr("'mine' cannot be registered"));
}

TEST(strategy_registry, lists_what_there_is_when_asked_for_another) {
  EXPECT_THAT(message_of([] { make_strategy("gredy"); }),
              AllOf(HasSubstr("'gredy'"),
                    HasSubstr("none, greedy, refine, comm_refine, diffusion, hierarchical, rcb, sfc, "
                              "graph"),
                    HasSubstr("register_strategy")));
}

}  // namespace

}  // namespace registry_test
