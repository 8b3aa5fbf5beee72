#include "unit/object/pe/large_arguments.h"

#include <gmock/gmock.h>

#include "unit/object/job.h"

namespace large_arguments_test {

namespace {

using namespace imbrex_test;

template <class F>
void over_all_shapes(F run) {
  for (const job_shape& s : all_shapes()) {
    SCOPED_TRACE(to_text(s));
    run(s);
  }
}

TEST(large_arguments, keep_their_place_among_other_messages) {
  over_all_shapes([](const job_shape& s) {
    const bool ordered = s.seed == 0;  // random schedules do not keep order
    EXPECT_EQ(run_job_with(s, &keep_order, ordered), 0);
  });
}

TEST(large_arguments, may_be_several_of_many_types) { run_over_all_shapes(&carry_all_kinds); }

TEST(large_arguments, of_calls_and_replies) { run_over_all_shapes(&answer_at_length); }

TEST(large_arguments, of_broadcasts_and_reductions) { run_over_all_shapes(&speak_to_all); }

TEST(large_arguments, find_elements_that_move) { run_over_all_shapes(&move_about); }

TEST(large_arguments, on_their_way_when_a_job_exits) {
  over_all_shapes([](const job_shape& s) { EXPECT_EQ(run_job_with(s, &end_in_the_middle, false), 5); });
}

TEST(large_arguments, on_their_way_when_a_job_fails) {
  over_all_shapes([](const job_shape& s) {
    const auto [code, errors] = run_and_listen(s, &end_in_the_middle, true);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, testing::HasSubstr("on purpose"));
  });
}

}  // namespace

}  // namespace large_arguments_test
