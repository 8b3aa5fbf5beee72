#include "imbrex/hetero/placement/cost_store.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "imbrex/base/error.h"
#include "imbrex/hetero/placement/shortest_finish.h"
#include "unit/hetero/hetero_fixture.h"

namespace cost_store_test {

using namespace imbrex;
using testing::HasSubstr;

namespace {

struct cost_store_test : testing::Test {
  cost_store_test() : folder(std::filesystem::path(testing::TempDir()) / name()) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    file = (folder / "costs.txt").string();
  }
  ~cost_store_test() override { std::filesystem::remove_all(folder); }
  static std::string name() {
    return std::string("imbrex_costs_") + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void fill(const std::string& text) const { std::ofstream(file) << text; }
  std::string content() const {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string message() const {
    try {
      cost_store store(file);
      store.check_writable();
    } catch (const config_error& e) {
      return e.what();
    }
    return "nothing was thrown";
  }

  std::filesystem::path folder;
  std::string file;
};

TEST_F(cost_store_test, a_file_that_is_not_there_is_empty) {
  cost_store store(file);
  store.check_writable();
  EXPECT_TRUE(store.known().all().empty());
  EXPECT_FALSE(std::filesystem::exists(file)) << "it is written in the end";
  store.write({store.news()});
  EXPECT_EQ(content(), "");
}

TEST_F(cost_store_test, keeps_what_was_learnt) {
  cost_model model;
  for (const double ns : {100.0, 300.0}) model.learn({"task\nof two\tlines", 7, "cuda 0"}, ns);
  cost_store store(file);
  store.learnt(model);
  store.write({store.news()});
  EXPECT_EQ(content(), "2\t200.0\t7\tcuda 0\ttask of two lines\n");
  EXPECT_EQ(cost_store(file).known().all().size(), 1);
}

/// Two PEs and another rank begin with the same mean, of which each makes its own.
TEST_F(cost_store_test, weighs_what_all_have_learnt_by_samples) {
  fill("10\t100.0\t7\thost\ta\n5\t50.0\t7\thost\tnever run again\n");
  cost_store store(file), other_rank(file);
  const cost_model::key a{"a", 7, "host"};
  const auto learns = [&](cost_store& at, int times, double ns) {
    cost_model mine = at.known();
    for (int i = 0; i < times; ++i) mine.learn(a, ns);
    at.learnt(mine);
    return mine.find(a)->nanoseconds;
  };
  const double x = learns(store, 30, 400), y = learns(store, 10, 200), z = learns(other_rank, 60, 300);
  EXPECT_GT(x, 380);
  store.write({store.news(), other_rank.news()});
  const cost_store again(file);
  EXPECT_EQ(again.known().find(a)->samples, 110);
  EXPECT_NEAR(again.known().find(a)->nanoseconds, (x * 30 + y * 10 + z * 60) / 100, 0.2);
  EXPECT_EQ(again.known().find({"never run again", 7, "host"})->samples, 5);
  EXPECT_EQ(again.known().find({"never run again", 7, "host"})->nanoseconds, 50);
}

TEST_F(cost_store_test, what_is_no_file_of_costs_is_refused_by_name_and_line) {
  const auto refused = [](const std::string& line) {
    return testing::AllOf(HasSubstr("costs.txt:2:"), HasSubstr("'" + line + "'"), HasSubstr("delete the line"));
  };
  for (const std::string line :
       {"nonsense", "", "1\t2.0\t3\thost", "0\t2.0\t3\thost\ta", "-1\t2.0\t3\thost\ta", "1\t-2.0\t3\thost\ta",
        "1\tinf\t3\thost\ta", "1\t2.0\t65\thost\ta", "1\t2.0\t3\t\ta"}) {
    fill("1\t2.0\t3\thost\ta\n" + line + "\n");
    EXPECT_THAT(message(), refused(line));
  }
  EXPECT_THROW(shortest_finish{file}, config_error);
}

TEST_F(cost_store_test, folders_and_places_that_cannot_be_written_are_refused) {
  std::filesystem::create_directory(file);
  EXPECT_THAT(message(), testing::AllOf(HasSubstr("costs.txt cannot be read"), HasSubstr("name a file")));
  file = (folder / "no_such_folder" / "costs.txt").string();
  EXPECT_THAT(message(), testing::AllOf(HasSubstr("costs.txt cannot be written"), HasSubstr("No such file")));
}

/// A domain with it begins with what the last one has learnt.
TEST_F(cost_store_test, goes_from_domain_to_domain) {
  for (std::uint64_t round = 1; round <= 3; ++round) {
    cost_store store(file);
    {
      imbrex_test::hetero_pe on(1, 1 << 20, {.policy = "shortest_finish", .costs = &store});
      auto x = on.object<double>(4);
      submit(*on.domain, {.name = "fill"}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 0.0); }, write(x));
      for (int i = 0; i < 5; ++i) submit(*on.domain, {.name = "add"}, imbrex_test::add_on_device(1), x);
      on.pe.run();
    }
    store.write({store.news()});
    const cost_model known = cost_store(file).known();
    EXPECT_EQ(known.find({"add", 6, "host"})->samples, 5 * round);
    EXPECT_EQ(known.find({"fill", 6, "host"})->samples, round);
  }
}

}  // namespace

}  // namespace cost_store_test
