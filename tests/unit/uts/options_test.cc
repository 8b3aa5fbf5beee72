#include "options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "imbrex/base/error.h"
#include "tree/named_trees.h"

namespace uts {
namespace options_test {
namespace {

using testing::HasSubstr;

options parse(const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> words{"uts"};
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

TEST(uts_options, the_tree_is_t1_where_none_is_defined) {
  const options o = parse("--imbrex-pes=2 --grain 7");
  EXPECT_STREQ(known_tree(o.tree)->name, "T1");
  EXPECT_EQ(o.impl, implementation::chares);
  EXPECT_EQ(o.grain, 7);
  EXPECT_TRUE(o.deepest_first);
}

TEST(uts_options, a_tree_given_by_letters_is_found_in_the_list) {
  EXPECT_STREQ(known_tree(parse("-t 0 -b 2000 -q 0.124875 -m 8 -r 42").tree)->name, "T3");
  EXPECT_STREQ(known_tree(parse("-t 1 -a 3 -d 10 -b 4 -r 19").tree)->name, "T1");
  EXPECT_STREQ(known_tree(parse("-t 2 -a 0 -d 16 -b 6 -q 0.234375 -m 4 -r 1").tree)->name, "T4");
  EXPECT_EQ(known_tree(parse("-r 1").tree), nullptr);
}

TEST(uts_options, letters_that_say_nothing_about_the_tree_are_refused) {
  for (const char* const line : {"-t 0 -d 3", "-t 0 -a 1", "-t 0 -f 0.5", "-t 1 -q 0.2", "-m 8", "-t 1 -f 0.5",
                                 "-t 3 -a 1", "-t 3 -r 5", "-t 3 -q 0.2", "--tree T3 -d 3"})
    EXPECT_THAT(refusal(line), HasSubstr("says nothing about a tree that is")) << line;
  EXPECT_THAT(refusal("-t 1 -q 0.2"), HasSubstr("-q says nothing about a tree that is geometric (linear): leave it"));
  for (const char* const line :
       {"-t 0 -q 0.2 -m 4 -r 5 -b 9", "-t 1 -a 1 -d 3 -r 5", "-t 2 -f 0.5 -q 0.2", "-t 3 -d 3 -b 2"})
    EXPECT_EQ(refusal(line), "accepted") << line;
}

TEST(uts_options, every_listed_tree_is_found_by_its_own_text) {
  for (const named_tree& t : named_trees()) EXPECT_EQ(known_tree(parse(options_text(t.parameters)).tree), &t) << t.name;
}

TEST(uts_options, letters_change_what_the_name_says) {
  const options o = parse("--tree T1 -r 20");
  EXPECT_EQ(o.tree.seed, 20u);
  EXPECT_EQ(o.tree.depth, 10);
  EXPECT_EQ(known_tree(o.tree), nullptr);
}

TEST(uts_options, what_cannot_be_is_refused_with_the_remedy) {
  EXPECT_THAT(refusal("--tree T9"), HasSubstr("--tree T9 is unknown: use one of T1, T2"));
  EXPECT_THAT(refusal("-t 4"), HasSubstr("-t 4 is unknown: use 0 to 3"));
  EXPECT_THAT(refusal("-a 4"), HasSubstr("-a 4 is unknown: use 0 to 3"));
  EXPECT_THAT(refusal("-t 0 -q 0.6 -m 2"), HasSubstr("no end: use -q up to 0.505"));
  EXPECT_THAT(refusal("-t 0 -m 101"), HasSubstr("-m 101 cannot be used: give 0 to 100"));
  EXPECT_THAT(refusal("-t 0 -q 1.5"), HasSubstr("-q 1.5 is no probability"));
  EXPECT_THAT(refusal("-d 0"), HasSubstr("-d 0 is too small: use at least 1"));
  EXPECT_THAT(refusal("-b -1"), HasSubstr("-b -1 cannot be used"));
  EXPECT_THAT(refusal("-t 2 -f 2"), HasSubstr("-f 2 is no part of the depth"));
  EXPECT_THAT(refusal("--grain 0"), HasSubstr("--grain 0 is too small: use at least 1"));
  EXPECT_THAT(refusal("--split 1"), HasSubstr("use 0, or at least 2"));
  EXPECT_THAT(refusal("--split -1"), HasSubstr("--split -1 is too small"));
  EXPECT_THAT(refusal("--repeats 0"), HasSubstr("--repeats 0 is too small: use at least 1"));
  EXPECT_THAT(refusal("--impl threads"), HasSubstr("--impl threads is unknown: use chares or serial"));
  EXPECT_THAT(refusal("--order deeper"), HasSubstr("--order deeper is unknown: use deep or arrival"));
  EXPECT_THAT(refusal("--impl serial --grain 3"), HasSubstr("--grain needs --impl chares: leave it out"));
  EXPECT_THAT(refusal("--impl serial -r 5 --verify"), HasSubstr("--verify needs --impl chares"));
  EXPECT_THAT(refusal("--nonsense"), HasSubstr("see uts --help"));
}

}  // namespace
}  // namespace options_test
}  // namespace uts
