// Whose code runs, and for how long.
#include <chrono>

#include "imbrex/object/load/element_times.h"
#include "unit/object/job.h"

namespace acting_element_test {

namespace {

namespace ix = imbrex;
using imbrex_test::run_job_with;
using imbrex_test::run_over_all_shapes;

std::atomic<int> num_wrong{0};
std::atomic<int> num_looks{0};

/// Says in each kind of code whether the PE knows that it is this element's.
struct known : ix::chare<known, ix::index1d> {
  known() { look(); }
  ~known() override { look(); }
  void plain() { look(); }
  int asked() {
    look();
    return 1;
  }
  ix::task<> coroutine() {
    look();
    auto waits = comes();
    co_await waits;
    look();
    co_await array()[(index() + 1) % extent()].template call<&known::asked>();
    look();
    co_await allreduce(1, ix::sum);
    look();
    auto helped = helper();
    co_await std::move(helped);
    look();
    contribute(1, ix::sum);
  }
  ix::task<> helper() {
    look();
    co_await array()[index()].template call<&known::asked>();
    look();
  }
  void move() { migrate_to((pe() + 1) % num_pes()); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & number;
    look();
  }
  ix::slot<int> comes;
  int number = 0;

  void look() {
    ++num_looks;
    const auto& pe = ix::scheduler::current();
    if (pe.acting() != &ix::chare_access::element(*this)) ++num_wrong;
  }
};

ix::task<int> program(ix::runtime& rt, std::vector<std::string>) {
  const auto nobody = [] { return ix::scheduler::current().acting() == nullptr; };
  if (!nobody()) co_return 1;
  auto all = rt.create_array<known>(ix::index1d(6));
  all[0].send<&known::plain>();
  all.broadcast<&known::plain>();
  auto done = all.reduction<int>();
  all.broadcast<&known::coroutine>();
  for (int i = 0; i < 6; ++i) all[i].send<&known::comes>(i);
  co_await done;
  if (!nobody()) co_return 2;
  co_await rt.quiescence();
  all.broadcast<&known::move>();
  co_await rt.quiescence();
  co_return nobody() ? 0 : 3;
}

TEST(acting_element, is_known_in_all_its_code) {
  num_wrong = 0;
  num_looks = 0;
  run_over_all_shapes(program);
  EXPECT_EQ(num_wrong, 0);
  EXPECT_GT(num_looks, 500);
}

// ------------------------------------------------------------------------------------------------ times

void spin(std::chrono::microseconds t) {
  const auto until = std::chrono::steady_clock::now() + t;
  while (std::chrono::steady_clock::now() < until) continue;
}

struct worker : ix::chare<worker, ix::index1d> {
  void plain() { spin(std::chrono::microseconds(index() == 3 ? 20'000 : 200)); }
  void nothing() {}
  ix::task<> coroutine() {
    spin(std::chrono::microseconds(1'000));
    co_await array()[index()].template call<&worker::nothing>();
    spin(std::chrono::microseconds(index() == 3 ? 20'000 : 200));
    contribute(1, ix::sum);
  }
};

TEST(acting_element, is_timed_with_an_option) {
  imbrex_test::command_line line({.pes = 2}, {"--imbrex-busiest-elements=1"});
  testing::internal::CaptureStderr();
  const int code = ix::run(line.count(), line.values(), [](ix::runtime& rt, std::vector<std::string>) -> ix::task<int> {
    auto all = rt.create_array<worker>(ix::index1d(4));
    all.broadcast<&worker::plain>();
    auto done = all.reduction<int>();
    all.broadcast<&worker::coroutine>();
    co_await done;
    const auto& pe = ix::scheduler::current();
    const auto* const times = dynamic_cast<const ix::element_times*>(pe.observer);
    if (times == nullptr || times->total_ns() < 2'000'000) co_return 1;
    co_return 0;
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 0);
  EXPECT_NE(said.find("PE 0: "), std::string::npos) << said;
  const auto of_1 = said.find("PE 1: ");
  ASSERT_NE(of_1, std::string::npos) << said;
  const auto named = said.find("worker(3) ", of_1);
  ASSERT_NE(named, std::string::npos) << said;
  EXPECT_GE(std::stod(said.substr(named + 10)), 40.0) << said;
}

/// Runs long and goes, or ends.
struct leaver : ix::chare<leaver, ix::index1d> {
  void work() {
    if (index() == 0 || index() == 3) spin(std::chrono::microseconds(20'000));
    if (index() == 0) migrate_to(1);
    if (index() == 3) destroy();
  }
};

TEST(acting_element, that_has_left_or_ended_is_named_where_it_ran) {
  imbrex_test::command_line line({.pes = 2}, {"--imbrex-busiest-elements=2"});
  testing::internal::CaptureStderr();
  const int code = ix::run(line.count(), line.values(), [](ix::runtime& rt, std::vector<std::string>) -> ix::task<int> {
    auto all = rt.create_array<leaver>(ix::index1d(4));
    all.broadcast<&leaver::work>();
    co_await rt.quiescence();
    co_return 0;
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 0);
  for (const char* const who : {"leaver(0) ", "leaver(3) "}) {
    const auto named = said.find(who);
    ASSERT_NE(named, std::string::npos) << said;
    EXPECT_GE(std::stod(said.substr(named + 10)), 20.0) << said;
  }
}

}  // namespace

}  // namespace acting_element_test
