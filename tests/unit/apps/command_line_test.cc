#include "support/words/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

#include "imbrex/base/error.h"
#include "support/words/runtime_words.h"

namespace command_line_test {
namespace {

using testing::HasSubstr;
using words = std::vector<const char*>;

/// A program with a number and a text.
struct program {
  explicit program(words given) : line(std::move(given)) {
    line.insert(line.begin(), "program");
    app.add_option("-n,--number", number);
    app.add_option("--text", text);
  }
  bool parse() { return apps::parse(app, static_cast<int>(line.size()), line.data()); }

  words line;
  CLI::App app{"", "program"};
  int number = 7;
  std::string text;
};

std::string refusal_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const imbrex::usage_error& e) {
    return e.what();
  }
  return "accepted";
}

std::string refusal(words given) {
  return refusal_of([&] { program(std::move(given)).parse(); });
}

TEST(command_line, options_of_the_runtime_are_passed_over) {
  program p({"--imbrex-pes", "3", "-n", "5", "--imbrex-level=2", "--text=a"});
  EXPECT_TRUE(p.parse());
  EXPECT_EQ(p.number, 5);
  EXPECT_EQ(p.text, "a");
}

TEST(command_line, an_empty_word_is_no_value) {
  EXPECT_EQ(refusal({"--number", ""}), "--number is empty: give it a value, or leave it out");
  EXPECT_EQ(refusal({"--number="}), "--number is empty: give it a value, or leave it out");
  EXPECT_EQ(refusal({"--text", ""}), "--text is empty: give it a value, or leave it out");
  EXPECT_EQ(refusal({""}), "an argument is empty: leave it out");
  EXPECT_EQ(refusal({"--imbrex-trace", "", "--imbrex-balance=", "-n", "3"}), "accepted")
      << "the runtime looks at those";
}

TEST(command_line, what_is_wrong_is_said_in_one_line_with_the_remedy) {
  EXPECT_THAT(refusal({"--number", "x"}), HasSubstr("x is no number that can be used: see program --help"));
  EXPECT_THAT(refusal({"--other"}), HasSubstr("--other: see program --help"));
}

TEST(command_line, the_runtimes_word_for_the_same_is_refused) {
  const auto twice = [](words given) {
    program p(std::move(given));
    EXPECT_TRUE(p.parse());
    apps::refuse_said_twice(p.app, static_cast<int>(p.line.size()), p.line.data(), {"--number", "--text"});
    apps::refuse_without(p.app, "--devices cuda", {"--text"});
  };
  EXPECT_EQ(refusal_of([&] { twice({"-n", "3", "--imbrex-number=3"}); }),
            "--number and --imbrex-number say the same: give one");
  EXPECT_EQ(refusal_of([&] { twice({"--imbrex-number", "3", "--imbrex-numbers=4"}); }), "accepted");
  EXPECT_EQ(refusal_of([&] { twice({"-n", "3", "--imbrex-numbers=3"}); }), "accepted");
  EXPECT_EQ(refusal_of([&] { twice({"--text", "a"}); }), "--text needs --devices cuda: leave it out");
}

TEST(command_line, the_runtimes_word_is_taken_where_the_programs_is_not_given) {
  const auto text_of = [](words given) {
    program p(std::move(given));
    EXPECT_TRUE(p.parse());
    apps::take_from_runtime(p.app, static_cast<int>(p.line.size()), p.line.data(), "--text", p.text);
    return p.text;
  };
  EXPECT_EQ(text_of({"--imbrex-text=a"}), "a");
  EXPECT_EQ(text_of({"--imbrex-text", "a", "-n", "3"}), "a");
  EXPECT_EQ(text_of({"--text", "a", "--imbrex-text=a"}), "a");
  EXPECT_EQ(text_of({"--text", "a", "--imbrex-texts=b"}), "a");
  EXPECT_EQ(refusal_of([&] { text_of({"--text", "a", "--imbrex-text=b"}); }),
            "--text a and --imbrex-text b contradict each other: give one");
}

TEST(command_line, lists_have_numbers_within_bounds) {
  EXPECT_EQ(refusal_of([] { apps::check_list("--n", {}, 1, 8); }), "--n is empty");
  EXPECT_EQ(refusal_of([] { apps::check_list("--n", {16, 24}, 16, 64, 16); }),
            "--n 24 cannot be used: use numbers from 16 to 64 that are multiples of 16");
  EXPECT_EQ(refusal_of([] { apps::check_list("--n", {1, 8}, 1, 8); }), "accepted");
}

TEST(runtime_words, a_default_is_added_where_the_user_says_nothing) {
  const words line{"program", "--imbrex-pes", "3", "--imbrex-devices=x"};
  apps::runtime_words w(static_cast<int>(line.size()), line.data());
  w.add_default("pes", "1");
  w.add_default("device", "host");
  w.add("trace", "t.json");
  const std::vector<char*> all = w.pointers();
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(w.count(), 6);
  EXPECT_STREQ(all[4], "--imbrex-device=host");
  EXPECT_STREQ(all[5], "--imbrex-trace=t.json");
  EXPECT_EQ(all[6], nullptr);
  EXPECT_TRUE(w.has("trace"));
  EXPECT_FALSE(w.has("trac"));
}

}  // namespace
}  // namespace command_line_test
