#include "imbrex/base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "imbrex/base/error.h"

namespace log_test {

namespace {

using imbrex::log_level;

/// Leaves the logger as it was found.
class log_test : public testing::Test {
 protected:
  ~log_test() override {
    imbrex::set_log_level(log_level::warning);
    imbrex::set_log_rank(-1);
    imbrex::set_thread_log_rank(-1);
  }
  template <class Function>
  std::string shown_by(Function f) {
    testing::internal::CaptureStderr();
    f();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(log_test, shows_warnings_and_errors_at_first) {
  const std::string shown = shown_by([] {
    imbrex::log_debug("a");
    imbrex::log_info("b");
    imbrex::log_warning("c {}");
    imbrex::log_error("d");
  });
  EXPECT_EQ(shown, "imbrex warning: c {}\nimbrex error: d\n");
}

TEST_F(log_test, shows_what_the_level_asks_for) {
  imbrex::set_log_level(log_level::debug);
  EXPECT_EQ(shown_by([] { imbrex::log_debug("a"); }), "imbrex debug: a\n");
  imbrex::set_log_level(log_level::off);
  EXPECT_EQ(shown_by([] { imbrex::log_error("a"); }), "");
  EXPECT_FALSE(imbrex::log_enabled(log_level::off));
}

TEST_F(log_test, names_the_rank_of_the_process_or_of_the_thread) {
  imbrex::set_log_rank(3);
  EXPECT_EQ(shown_by([] { imbrex::log_error("a"); }), "imbrex [rank 3] error: a\n");
  const std::string shown = shown_by([] {
    std::thread([] {
      imbrex::set_thread_log_rank(5);
      imbrex::log_error("b");
    }).join();
    imbrex::log_error("c");
  });
  EXPECT_EQ(shown, "imbrex [rank 5] error: b\nimbrex [rank 3] error: c\n");
}

TEST_F(log_test, keeps_a_message_on_one_line) {
  EXPECT_EQ(shown_by([] { imbrex::log_error("a\nb\n"); }), "imbrex error: a; b\n");
}

TEST_F(log_test, knows_its_levels_by_name) {
  for (const char* name : {"trace", "debug", "info", "warning", "error", "off"}) {
    EXPECT_STREQ(imbrex::to_string(imbrex::parse_log_level(name)), name);
  }
  EXPECT_THROW(imbrex::parse_log_level("loud"), imbrex::config_error);
}

}  // namespace

}  // namespace log_test
