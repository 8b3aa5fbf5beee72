// What tasks of whole jobs took, in a file.
#include <filesystem>
#include <fstream>

#include "job.h"

namespace task_costs_test {

namespace ix = imbrex;
using namespace imbrex_test;

namespace {

constexpr int tasks_of_each = 20;

class worker : public ix::chare<worker, ix::index1d> {
 public:
  ix::task<> run() {
    const ix::hetero_object<double> x(8);
    ix::hetero_task last =
        submit({.name = "fill"}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 0.0); }, write(x));
    for (int i = 0; i < tasks_of_each; ++i) last = submit({.name = "work"}, [](double* v) { v[0] += 1; }, x);
    co_await last;
  }
};

ix::task<int> start(ix::runtime& rt) {
  auto all = rt.create_array<worker>(ix::index1d(rt.num_pes()));
  all.broadcast<&worker::run>();
  co_await rt.quiescence();
  co_return 0;
}

ix::task<int> fails(ix::runtime&) {
  throw std::runtime_error("it should not begin");
  co_return 0;
}

struct task_costs : testing::Test {
  task_costs()
      : folder(std::filesystem::path(testing::TempDir()) /
               (std::string("imbrex_task_costs_") + testing::UnitTest::GetInstance()->current_test_info()->name())),
        file((folder / "costs.txt").string()) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  ~task_costs() override { std::filesystem::remove_all(folder); }

  template <class Start>
  int run(const job_shape& shape, Start main, const std::string& policy = "shortest_finish") const {
    command_line line(shape, {"--imbrex-task-policy=" + policy, "--imbrex-task-costs=" + file});
    return ix::run(line.count(), line.values(), main);
  }
  /// Of the tasks of a name.
  int samples(const std::string& name) const {
    std::ifstream in(file);
    int sum = 0;
    for (std::string text; std::getline(in, text);) {
      if (text.ends_with("\t" + name)) sum += std::stoi(text);
    }
    return sum;
  }

  std::filesystem::path folder;
  std::string file;
};

TEST_F(task_costs, of_all_pes_and_ranks_are_kept_from_job_to_job) {
  int expected = 0;
  for (const job_shape& shape : {job_shape{1, 1}, job_shape{3, 1}, job_shape{2, 2}, job_shape{1, 3}}) {
    ASSERT_EQ(run(shape, start), 0);
    expected += shape.pes * shape.ranks;
    EXPECT_EQ(samples("work"), expected * tasks_of_each) << to_text(shape);
    EXPECT_EQ(samples("fill"), expected);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "nothing else is left there";
}

TEST_F(task_costs, a_job_with_a_bad_file_does_not_begin_and_leaves_it) {
  std::ofstream(file) << "these are no costs\n";
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({2, 2}, fails), 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("costs.txt:1: 'these are no costs'"), std::string::npos);
  std::ifstream in(file);
  std::string text;
  std::getline(in, text);
  EXPECT_EQ(text, "these are no costs");
}

TEST_F(task_costs, are_refused_where_nobody_learns) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({1, 1}, fails, "locality"), 2);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("'locality' does not learn"), std::string::npos) << said;
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace

}  // namespace task_costs_test
