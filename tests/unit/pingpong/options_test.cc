#include "options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "imbrex/base/error.h"

namespace pingpong {
namespace options_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

options parse(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words{"pingpong"};
  for (std::string word; text >> word;) words.push_back(word);
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_options(static_cast<int>(argv.size()), argv.data()).value();
}

std::string refusal(const std::string& line) {
  try {
    parse(line);
  } catch (const imbrex::usage_error& e) {
    EXPECT_THAT(e.what(), testing::Not(HasSubstr("\n"))) << "one line";
    return e.what();
  }
  return "accepted";
}

TEST(pingpong_options, defaults_are_the_papers_sizes_and_all_modes) {
  const options o = parse("");
  EXPECT_EQ(o.sizes.front(), 8);
  EXPECT_EQ(o.sizes.back(), 8 << 20);
  EXPECT_TRUE(o.modes.empty());
  EXPECT_EQ(o.window, 0);
  EXPECT_FALSE(o.rate || o.quiet);
}

TEST(pingpong_options, everything_is_read) {
  const options o = parse(
      "--modes mpi-host,entry,entry --sizes 1K,8 --repeats 3 --time-ms 2.5 --trips 7 --chain 4 --window 16 --rate "
      "--quiet "
      "--report r.json --plot p.png");
  EXPECT_THAT(o.modes, ElementsAre(mode::entry, mode::mpi_host));
  EXPECT_THAT(o.sizes, ElementsAre(8, 1024));
  EXPECT_EQ(o.repeats, 3);
  EXPECT_EQ(o.time_ms, 2.5);
  EXPECT_EQ(o.max_trips, 7);
  EXPECT_EQ(o.chain, 4);
  EXPECT_EQ(o.window, 16);
  EXPECT_TRUE(o.rate && o.quiet);
  EXPECT_EQ(o.report, "r.json");
  EXPECT_EQ(o.plot, "p.png");
  EXPECT_THAT(o.command, testing::StartsWith("pingpong --modes mpi-host"));
}

TEST(pingpong_options, those_of_the_runtime_are_passed_over) {
  EXPECT_EQ(parse("--imbrex-pes 2 --repeats 4 --imbrex-transport=ucx").repeats, 4);
}

TEST(pingpong_options, what_cannot_be_used_is_named) {
  EXPECT_THAT(refusal("--modes entry,pigeon"), HasSubstr("'pigeon' is unknown: use some of entry, channel-host"));
  EXPECT_THAT(refusal("--sizes 8,x"), HasSubstr("'x' is no size"));
  EXPECT_THAT(refusal("--repeats 0"), HasSubstr("--repeats 0 is too small"));
  EXPECT_THAT(refusal("--repeats 1.5"), HasSubstr("1.5"));
  EXPECT_THAT(refusal("--trips 0"), HasSubstr("--trips 0"));
  EXPECT_THAT(refusal("--chain 0"), HasSubstr("--chain 0"));
  EXPECT_THAT(refusal("--window 10001"), HasSubstr("--window 10001 is too large"));
  EXPECT_THAT(refusal("--time-ms 0"), HasSubstr("--time-ms 0"));
  EXPECT_THAT(refusal("--time-ms nan"), HasSubstr("--time-ms nan"));
  EXPECT_THAT(refusal("--plot p.png"), HasSubstr("needs --report"));
  EXPECT_THAT(refusal("stray"), HasSubstr("pingpong --help"));
}

}  // namespace
}  // namespace options_test
}  // namespace pingpong
