#include "system/memory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "imbrex/base/error.h"
#include "model_of.h"
#include "system/serial_run.h"

namespace md {
namespace memory_check_test {
namespace {

using md_test::model_of;
using md_test::small_problem;

TEST(minimd_memory_check, says_no_more_than_a_run_takes_and_not_much_less) {
  for (const auto style : {list_style::half, list_style::full}) {
    problem p = small_problem(8);
    const model m = model_of(p, {.rule = {style}});
    serial_run run(m, nullptr);
    run.run(1, [](const thermo_row&) {});
    const auto taken = static_cast<double>(run.all().bytes());
    EXPECT_LT(least_bytes(m), taken);
    EXPECT_GT(least_bytes(m), taken / 8);
  }
}

TEST(minimd_memory_check, refuses_what_no_machine_has) {
  problem p = small_problem(4);
  const model fits = model_of(p, {});
  EXPECT_NO_THROW(check_memory(fits, 1, 1));
  p.density = 1e-11;  // bins of empty space
  const model sparse = model_of(p, {});
  try {
    check_memory(sparse, 2, 2);
    FAIL() << "no error";
  } catch (const imbrex::out_of_memory& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("at least"), testing::HasSubstr("--density")));
  }
  const model many = model_of(small_problem(20000), {});
  EXPECT_THROW(check_memory(many, 1, 1), imbrex::out_of_memory);
}

}  // namespace
}  // namespace memory_check_test
}  // namespace md
