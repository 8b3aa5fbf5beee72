#include "unit/object/entry/equal_names.h"

#include <gtest/gtest.h>

#include "unit/object/job.h"

/// Chare classes of one name in the unnamed namespaces of two files.
namespace {

namespace ix = imbrex;
using imbrex_test::answers;

#define IMBREX_TEST_FILE "one"
#include "unit/object/entry/equal_names_worker.h"
#undef IMBREX_TEST_FILE

ix::task<int> both(ix::runtime& rt) {
  const answers one = co_await imbrex_test::ask_one_file(rt);
  const answers other = co_await imbrex_test::ask_the_other_file(rt);
  EXPECT_EQ(one, (answers{"one", "one", "one", "one", "one"}));
  EXPECT_EQ(other, (answers{"other", "other", "other", "other", "other"}));
  co_return 0;
}

}  // namespace

ix::task<answers> imbrex_test::ask_one_file(ix::runtime& rt) { return ask(rt); }

TEST(equal_names, of_two_files_stay_apart) { imbrex_test::run_over_all_shapes(&both); }
