#include "imbrex/base/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "imbrex/base/error.h"

namespace config_test {

namespace {

using imbrex::config;
using imbrex::config_error;
using imbrex::setting;
using imbrex::setting_kind;
using imbrex::setting_source;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<setting> known = {
    {.name = "pes", .kind = setting_kind::integer, .default_value = "2", .min = -1, .max = 8},
    {.name = "spin-us", .kind = setting_kind::integer},
    {.name = "pin", .kind = setting_kind::flag, .default_value = "off"},
    {.name = "seed", .kind = setting_kind::seed, .default_value = "0"},
    {.name = "trace", .kind = setting_kind::text},
    {.name = "transport", .kind = setting_kind::text, .default_value = "auto", .choices = {"auto", "mpi"}},
};

/// A command line and an environment that live long enough.
class invocation {
 public:
  explicit invocation(std::vector<std::string> arguments, std::vector<std::string> environment = {})
      : words_(std::move(arguments)), environment_(std::move(environment)) {
    words_.insert(words_.begin(), "program");
    for (std::string& w : words_) argv_.push_back(w.data());
    argc_ = static_cast<int>(argv_.size());
    argv_.push_back(nullptr);
    for (const std::string& e : environment_) variables_.push_back(e.c_str());
    variables_.push_back(nullptr);
  }
  config parse() { return config(known, argc_, argv_.data(), variables_.data()); }
  /// What is left after the program's name.
  std::vector<std::string> rest() const {
    EXPECT_EQ(argv_[static_cast<std::size_t>(argc_)], nullptr);
    return {argv_.begin() + 1, argv_.begin() + argc_};
  }
  std::string complaint() {
    try {
      parse();
    } catch (const config_error& e) {
      return e.what();
    }
    return "none";
  }

 private:
  std::vector<std::string> words_, environment_;
  std::vector<char*> argv_;
  std::vector<const char*> variables_;
  int argc_ = 0;
};

TEST(config, gives_defaults) {
  invocation i({});
  const config c = i.parse();
  EXPECT_EQ(c.get<int>("pes"), 2);
  EXPECT_EQ(c.get<int>("spin-us"), 0);
  EXPECT_FALSE(c.get<bool>("pin"));
  EXPECT_EQ(c.get<std::string>("trace"), "");
  EXPECT_EQ(c.get<std::string>("transport"), "auto");
  EXPECT_FALSE(c.is_set("pes"));
  EXPECT_TRUE(c.warnings().empty());
}

TEST(config, takes_both_spellings_out_of_the_command_line) {
  invocation i({"-x", "3", "--imbrex-pes", "4", "file", "--imbrex-trace=a=b.json", "--other"});
  const config c = i.parse();
  EXPECT_EQ(c.get<int>("pes"), 4);
  EXPECT_EQ(c.text("trace"), "a=b.json");
  EXPECT_EQ(c.source("pes"), setting_source::command_line);
  EXPECT_THAT(i.rest(), ElementsAre("-x", "3", "file", "--other"));
}

TEST(config, leaves_what_follows_two_dashes) {
  invocation i({"--imbrex-pes=1", "--", "--imbrex-pes=3"});
  EXPECT_EQ(i.parse().get<int>("pes"), 1);
  EXPECT_THAT(i.rest(), ElementsAre("--", "--imbrex-pes=3"));
}

TEST(config, takes_negative_numbers_and_the_last_of_several) {
  invocation i({"--imbrex-pes", "-1", "--imbrex-spin-us=5", "--imbrex-spin-us", "6"});
  const config c = i.parse();
  EXPECT_EQ(c.get<int>("pes"), -1);
  EXPECT_EQ(c.get<std::int64_t>("spin-us"), 6);
}

TEST(config, the_command_line_goes_before_the_environment) {
  invocation i({"--imbrex-pes=3"}, {"IMBREX_PES=5", "IMBREX_SPIN_US=7", "HOME=/", "IMBREX_TRACE="});
  const config c = i.parse();
  EXPECT_EQ(c.get<int>("pes"), 3);
  EXPECT_EQ(c.get<int>("spin-us"), 7);
  EXPECT_EQ(c.source("spin-us"), setting_source::environment);
  EXPECT_FALSE(c.is_set("trace"));  // set to nothing is not set
}

TEST(config, flags_stand_alone_or_take_a_word) {
  EXPECT_TRUE(invocation({"--imbrex-pin"}).parse().get<bool>("pin"));
  EXPECT_TRUE(invocation({"--imbrex-pin=yes"}).parse().get<bool>("pin"));
  EXPECT_FALSE(invocation({"--imbrex-pin=0"}).parse().get<bool>("pin"));
  invocation word({"--imbrex-pin", "off", "12"});
  EXPECT_FALSE(word.parse().get<bool>("pin"));
  EXPECT_THAT(word.rest(), ElementsAre("12"));
  invocation foreign({"--imbrex-pin", "1"});
  EXPECT_TRUE(foreign.parse().get<bool>("pin"));
  EXPECT_THAT(foreign.rest(), ElementsAre("1"));
  EXPECT_TRUE(invocation({}, {"IMBREX_PIN=true"}).parse().get<bool>("pin"));
}

TEST(config, seeds_use_all_64_bits) {
  invocation i({"--imbrex-seed=18446744073709551615"});
  EXPECT_EQ(i.parse().get<std::uint64_t>("seed"), 18446744073709551615ull);
}

TEST(config, complaints_name_setting_value_and_what_is_allowed) {
  EXPECT_THAT(invocation({"--imbrex-pes=9"}).complaint(),
              AllOf(HasSubstr("--imbrex-pes"), HasSubstr("'9'"), HasSubstr("from -1 to 8")));
  EXPECT_THAT(invocation({"--imbrex-pes", "many"}).complaint(), HasSubstr("'many'"));
  EXPECT_THAT(invocation({"--imbrex-pes=4x"}).complaint(), HasSubstr("'4x'"));
  EXPECT_THAT(invocation({"--imbrex-pes="}).complaint(), HasSubstr("''"));
  EXPECT_THAT(invocation({"--imbrex-pes=99999999999999999999"}).complaint(), HasSubstr("whole number"));
  EXPECT_THAT(invocation({"--imbrex-transport=tcp"}).complaint(), HasSubstr("auto, mpi"));
  EXPECT_THAT(invocation({"--imbrex-pin=maybe"}).complaint(), HasSubstr("on or off"));
  EXPECT_THAT(invocation({"--imbrex-seed=-1"}).complaint(), HasSubstr("'-1'"));
  EXPECT_THAT(invocation({}, {"IMBREX_SPIN_US=-2"}).complaint(),
              AllOf(HasSubstr("IMBREX_SPIN_US"), HasSubstr("at least 0")));
}

TEST(config, a_missing_value_is_told) {
  EXPECT_THAT(invocation({"--imbrex-pes"}).complaint(), HasSubstr("--imbrex-pes has no value"));
  EXPECT_THAT(invocation({"--imbrex-trace", "--other"}).complaint(), HasSubstr("--imbrex-trace has no value"));
}

TEST(config, names_that_do_not_begin_as_they_should_are_warned_of) {
  for (const std::string word : {"--imbrex_pes=4", "-imbrex-pes=4", "--Imbrex-pes=4", "--IMBREX_PES"}) {
    invocation call({word, "-", "--", "--imbrex_pes"});
    const config c = call.parse();
    EXPECT_THAT(c.warnings(), ElementsAre(HasSubstr("did you mean --imbrex-pes?"))) << word;
    EXPECT_EQ(call.rest().size(), 4U) << "it is the program's, which may know it";
    EXPECT_EQ(c.get<std::int64_t>("pes"), 2);
  }
  EXPECT_THAT(invocation({}, {"imbrex_pes=4"}).parse().warnings(), ElementsAre(HasSubstr("did you mean IMBREX_PES?")));
  EXPECT_TRUE(invocation({"--imbrexious", "imbrex-pes", "---"}, {"imbrexious=1"}).parse().warnings().empty());
}

TEST(config, unknown_names_are_warned_of_once_with_the_closest_known) {
  invocation i({"--imbrex-pse=3", "--imbrex-pse=3", "--imbrex-zzzzzz"},
               {"IMBREX_SPIN_MS=1", "IMBREXX=1", "IMBREX_SESSIONS=count", "IMBREX_SESSIONS_OUTPUT=a"});
  const config c = i.parse();
  EXPECT_TRUE(i.rest().empty());
  EXPECT_THAT(c.warnings(), ElementsAre(AllOf(HasSubstr("IMBREX_SPIN_MS"), HasSubstr("did you mean IMBREX_SPIN_US?")),
                                        AllOf(HasSubstr("--imbrex-pse"), HasSubstr("did you mean --imbrex-pes?")),
                                        AllOf(HasSubstr("--imbrex-zzzzzz"), HasSubstr("--imbrex-help"))));
}

TEST(config, asking_for_a_setting_that_does_not_exist_is_an_error) {
  invocation i({});
  const config c = i.parse();
  EXPECT_THROW(c.get<int>("nothing"), imbrex::usage_error);
}

TEST(config, no_arguments_at_all) {
  int argc = 0;
  char* argv[] = {nullptr};
  const config c(known, argc, argv, nullptr);
  EXPECT_EQ(argc, 0);
  EXPECT_EQ(c.get<int>("pes"), 2);
}

TEST(config, edit_distance_counts_single_changes) {
  EXPECT_EQ(imbrex::edit_distance("", ""), 0u);
  EXPECT_EQ(imbrex::edit_distance("pes", ""), 3u);
  EXPECT_EQ(imbrex::edit_distance("pes", "pse"), 1u);
  EXPECT_EQ(imbrex::edit_distance("pes", "peas"), 1u);
  EXPECT_EQ(imbrex::edit_distance("kitten", "sitting"), 3u);
}

}  // namespace

}  // namespace config_test
