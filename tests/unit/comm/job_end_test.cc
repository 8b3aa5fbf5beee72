#include "imbrex/comm/job_end.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace job_end_test {

using namespace imbrex;

namespace {

TEST(end_decision, is_made_once_except_that_a_failure_overrules_an_exit) {
  end_decision d;
  EXPECT_EQ(d.get(), (job_end{false, 0}));
  EXPECT_TRUE(d.decide({false, 5}));
  EXPECT_FALSE(d.decide({false, 6}));
  EXPECT_EQ(d.get(), (job_end{false, 5}));
  EXPECT_TRUE(d.decide({true, 70}));
  EXPECT_FALSE(d.decide({true, 71}));
  EXPECT_FALSE(d.decide({false, 0}));
  EXPECT_EQ(d.get(), (job_end{true, 70}));
}

TEST(end_decision, an_exit_with_any_code_is_told_from_none) {
  for (const int code : {0, -1, 255}) {
    end_decision d;
    EXPECT_TRUE(d.decide({false, code}));
    EXPECT_FALSE(d.decide({false, 7}));
    EXPECT_EQ(d.get(), (job_end{false, code}));
  }
}

TEST(end_decision, of_many_threads_exactly_one_may_report_a_failure) {
  for (int round = 0; round < 50; ++round) {
    end_decision d;
    std::atomic<int> reports{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        d.decide({false, i});
        if (d.decide({true, 70 + i})) ++reports;
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(reports, 1);
    EXPECT_TRUE(d.get().failed);
  }
}

TEST(job_end, of_two_ranks_is_a_failure_if_there_is_one_else_the_lower_ranks) {
  EXPECT_EQ(agreed_end({false, 1}, {false, 2}), (job_end{false, 1}));
  EXPECT_EQ(agreed_end({false, 1}, {true, 2}), (job_end{true, 2}));
  EXPECT_EQ(agreed_end({true, 1}, {false, 2}), (job_end{true, 1}));
  EXPECT_EQ(agreed_end({true, 1}, {true, 2}), (job_end{true, 1}));
  for (const job_end e : {job_end{false, 0}, {true, 70}, {false, -1}, {true, -1}}) {
    EXPECT_EQ(job_end::of_word(e.word()), e);
  }
}

}  // namespace

}  // namespace job_end_test
