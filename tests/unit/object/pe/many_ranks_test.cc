// More ranks and PEs than tests usually have.
#include "imbrex/base/memory/sanitizer.h"
#include "unit/object/job.h"

namespace many_ranks_test {

namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using imbrex_test::run_and_listen;
using imbrex_test::run_job_with;

struct worker : ix::chare<worker, ix::index1d> {
  void add(std::uint64_t v) { value += v; }
  void tell() { contribute(value, ix::sum); }
  void move_far() { migrate_to((pe() + num_pes() / 2) % num_pes()); }
  void greet_all(int from) {
    greeted += from;
    if (from == index()) return;
    value += 1;
  }
  void greet() { array().template broadcast<&worker::greet_all>(index()); }
  std::uint64_t value = 0;
  int greeted = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & value & greeted;
  }
};

struct single : ix::chare<single> {
  int where() { return pe(); }
};

ix::task<int> program(ix::runtime& rt, std::vector<std::string>) {
  const int n = 3 * rt.num_pes();
  auto all = rt.create_array<worker>(ix::index1d(n));
  all.broadcast<&worker::add>(std::uint64_t{2});
  auto sum = all.reduction<std::uint64_t>();
  all.broadcast<&worker::tell>();
  if (co_await sum != 2 * static_cast<std::uint64_t>(n)) co_return 1;
  all.broadcast<&worker::move_far>();
  co_await rt.quiescence();
  all[n - 1].send<&worker::greet>();  // a broadcast from a PE that is not the first
  co_await rt.quiescence();
  auto again = all.reduction<std::uint64_t>();
  all.broadcast<&worker::tell>();
  if (co_await again != 3 * static_cast<std::uint64_t>(n) - 1) co_return 2;
  for (const ix::pe_id pe : {0, rt.num_pes() / 2, rt.num_pes() - 1}) {
    auto one = rt.create_on<single>(pe);
    if (co_await one.call<&single::where>() != pe) co_return 3;
  }
  co_return 0;
}

TEST(many_ranks, sixty_four) { EXPECT_EQ(run_job_with({.pes = 2, .ranks = 64}, program), 0); }
TEST(many_ranks, sixty_four_with_a_slow_network) {
  EXPECT_EQ(run_job_with({.pes = 1, .ranks = 64, .seed = 3, .delay_us = 50}, program), 0);
}
TEST(many_ranks, two_hundred_and_fifty_six) { EXPECT_EQ(run_job_with({.pes = 1, .ranks = 256}, program), 0); }
TEST(many_ranks, a_thousand_pes_of_one_thread) {
  EXPECT_EQ(run_job_with({.pes = imbrex::any_sanitizer ? 200 : 1024, .seed = 4, .one_thread = true}, program), 0);
}

#if IMBREX_HAVE_TOML
TEST(many_ranks, three_thousand_in_virtual_time) {
  constexpr int ranks = imbrex::any_sanitizer ? 200 : 3072;
  EXPECT_EQ(run_job_with({.pes = 1, .ranks = ranks, .in_virtual_time = true}, program), 0);
}
#endif

/// The last PE ends the job while all others send.
struct noisy : ix::chare<noisy, ix::index1d> {
  void go(int left) {
    if (index() == extent() - 1 && left == 0) rt().exit(21);
    array()[(index() * 5 + 1) % extent()].template send<&noisy::go>(left > 0 ? left - 1 : 50);
  }
};

TEST(many_ranks, end_by_an_exit_of_the_last_pe) {
  const auto start = [](ix::runtime& rt, std::vector<std::string>) -> ix::task<int> {
    auto all = rt.create_array<noisy>(ix::index1d(rt.num_pes()));
    all.broadcast<&noisy::go>(20);
    co_await rt.quiescence();
    co_return 0;
  };
  EXPECT_EQ(run_job_with({.pes = 1, .ranks = 64}, start), 21);
  EXPECT_EQ(run_job_with({.pes = 64}, start), 21);
}

TEST(many_ranks, report_a_deadlock_of_many_in_lines_that_can_be_read) {
  struct waiting : ix::chare<waiting, ix::index1d> {
    ix::task<> wait() {
      auto waits = comes();
      co_await waits;
    }
    ix::slot<int> comes;
  };
  const auto outcome =
      run_and_listen({.pes = 2, .ranks = 64}, [](ix::runtime& rt, std::vector<std::string>) -> ix::task<int> {
        auto all = rt.create_array<waiting>(ix::index1d(4 * rt.num_pes()));
        all.broadcast<&waiting::wait>();
        co_await all[0].call<&waiting::wait>();
        co_return 0;
      });
  EXPECT_EQ(outcome.code, 70);
  EXPECT_NE(outcome.errors.find("deadlock"), std::string::npos);
  EXPECT_NE(outcome.errors.find("more"), std::string::npos);
  EXPECT_LT(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 80);
}

}  // namespace

}  // namespace many_ranks_test
