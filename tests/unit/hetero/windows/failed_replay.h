#pragma once

#include <gmock/gmock.h>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace imbrex_test {

inline imbrex::task<> await(imbrex::hetero_task t) { co_await t; }

/// A replay of a window whose task 'divide' throws: it fails with that, and so does who reads what it should have
/// written.
inline void expect_failed(hetero_pe& on, const imbrex::task_window& w, const imbrex::hetero_object<double>& written) {
  const imbrex::hetero_task bad = w.replay();
  const imbrex::hetero_task reader = submit(*on.domain, {}, [](const double*) { FAIL(); }, written);
  try {
    on.run(await(bad));
    FAIL() << "nothing was thrown";
  } catch (const imbrex::device_error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("divide"), testing::HasSubstr("no such number")));
  }
  on.pe.run();
  EXPECT_EQ(reader.state(), imbrex::task_state::failed);
}

}  // namespace imbrex_test
