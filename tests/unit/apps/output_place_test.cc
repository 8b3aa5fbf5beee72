#include "support/output_place.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "imbrex/base/error.h"

namespace apps {
namespace output_place_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class output_place : public testing::Test {
 protected:
  output_place() : folder_(fs::temp_directory_path() / ("output_place_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~output_place() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void make(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name), std::ios::binary).rdbuf();
    return text.str();
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.insert(entry.path().filename());
    return all;
  }
  static std::string refusal(const std::string& path) {
    try {
      check_output(path);
    } catch (const imbrex::usage_error& e) {
      return e.what();
    }
    return "accepted";
  }

  fs::path folder_;
};

TEST_F(output_place, an_older_file_is_there_until_the_new_one_is_whole) {
  make("out", "older");
  {
    apps::output_place place(path("out"));
    ASSERT_EQ(::close(place.open()), 0);
    EXPECT_EQ(names().size(), 2);
    EXPECT_EQ(read("out"), "older");
  }
  EXPECT_EQ(names(), (std::set<std::string>{"out"}));
  write_output(path("out"), "newer");
  EXPECT_EQ(read("out"), "newer");
  EXPECT_EQ(names(), (std::set<std::string>{"out"}));
}

TEST_F(output_place, files_of_others_are_left_alone) {
  const std::string first = "out" + free_suffix({path("out")});
  make(first, "mine");
  EXPECT_NE("out" + free_suffix({path("other"), path("out")}), first);
  check_output(path("out"));
  write_output(path("out"), "new");
  EXPECT_EQ(read(first), "mine");
  EXPECT_EQ(names(), (std::set<std::string>{"out", first}));
}

TEST_F(output_place, symbolic_links_are_followed) {
  fs::create_directories(path("below"));
  fs::create_symlink("below/second", path("link"));
  fs::create_symlink(path("target"), path("below/second"));
  for (const char* text : {"new", "replaced"}) {
    check_output(path("link"));
    write_output(path("link"), text);
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_TRUE(fs::is_symlink(path("below/second")));
    EXPECT_EQ(read("target"), text);
  }
  fs::create_symlink("circle", path("circle"));
  EXPECT_THAT(refusal(path("circle")), HasSubstr("Too many levels"));
}

TEST_F(output_place, two_outputs_in_one_file_are_refused) {
  std::filesystem::create_symlink(path("a"), path("link"));
  const auto refusal = [](const std::vector<apps::named_output>& all) {
    try {
      apps::check_outputs_differ(all);
    } catch (const imbrex::usage_error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal({{"--report", path("a")}, {"--trace", path("b")}, {"--dump", ""}, {"--yaml", ""}}), "accepted");
  EXPECT_THAT(refusal({{"--report", path("a")}, {"--trace", path("a")}}),
              testing::EndsWith("are one file: give it once, or another name"));
  EXPECT_THAT(refusal({{"--report", path("a")}, {"--trace", path("link")}}),
              testing::EndsWith("are one file: give two"));
  EXPECT_EQ(refusal({{"--report", "/dev/stdout"}, {"--trace", "/dev/stdout"}}), "accepted") << "one after the other";
}

TEST_F(output_place, a_pipe_stays_one) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  check_output(path("pipe"));
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  write_output(path("pipe"), "through");
  char got[16] = {};
  EXPECT_EQ(::read(reader, got, sizeof got), 7);
  ::close(reader);
  EXPECT_STREQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(output_place, a_descriptor_goes_on_where_it_was) {
  const int file = ::open(path("printed").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::write(file, "before ", 7), 7);
  fs::create_symlink("/proc/self/fd/" + std::to_string(file), path("link"));
  check_output(path("link"));
  write_output(path("link"), "report");
  ASSERT_EQ(::write(file, " after", 6), 6);
  ::close(file);
  EXPECT_EQ(read("printed"), "before report after");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_THAT(refusal(path("link")), HasSubstr("cannot write")) << "it is closed";
}

TEST_F(output_place, what_cannot_be_written_is_refused_with_path_reason_and_remedy) {
  EXPECT_THAT(refusal(path("none/out")),
              testing::AllOf(HasSubstr("none/out"), HasSubstr("No such file"), HasSubstr("give a path")));
  EXPECT_THAT(refusal(folder_.string()), HasSubstr("it is a folder"));
  EXPECT_EQ(refusal(""), "accepted");
  EXPECT_EQ(refusal(path("out")), "accepted");
  EXPECT_TRUE(names().empty());
  fs::create_symlink("/dev/full", path("full"));
  try {
    write_output(path("full"), "text");
    FAIL() << "no error";
  } catch (const imbrex::error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(HasSubstr("full: "), HasSubstr("No space left")));
  }
}

}  // namespace
}  // namespace output_place_test
}  // namespace apps
