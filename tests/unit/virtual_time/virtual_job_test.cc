// Whole jobs on simulated machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/base/build_config.h>
#include <imbrex/clock.h>
#include <imbrex/imbrex.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "unit/virtual_time/quiet_machine.h"

namespace virtual_job_test {

#if IMBREX_HAVE_TOML

namespace {

namespace ix = imbrex;
using namespace std::chrono_literals;
using namespace imbrex_test;
using testing::HasSubstr;

const std::vector<std::string> four_ranks{"--imbrex-nodes=2", "--imbrex-ranks-per-node=2", "--imbrex-pes=1",
                                          "--imbrex-machine-cpu=declared"};

struct worker : ix::chare<worker, ix::index1d> {
  void work(int us) {
    ix::spend(std::chrono::microseconds(us));
    contribute(1, ix::sum);
  }
  int answer(int question) { return question + index().x; }
};

// ------------------------------------------------------------------------------------------------ time

ix::task<int> computes_for_a_while(ix::runtime& rt, double* took) {
  auto all = rt.create_group<worker>();
  all.broadcast<&worker::work>(0);
  co_await all.reduction<int>();
  const auto begin = ix::clock::now();
  all.broadcast<&worker::work>(1000);
  const int n = co_await all.reduction<int>();
  *took = us(ix::clock::now() - begin);
  co_return n == rt.num_pes() ? 0 : 1;
}

TEST(virtual_job, work_is_done_by_all_at_once) {
  double took = 0;
  const outcome o = run_on_quiet_machine(four_ranks, &computes_for_a_while, &took);
  EXPECT_EQ(o.code, 0) << o.errors;
  EXPECT_GT(took, 1000);
  EXPECT_LT(took, 1030);
  EXPECT_EQ(o.report["ranks"], 4);
  EXPECT_NEAR(o.report["pe_seconds"]["own"].get<double>(), 4e-3, 1e-9);
}

const std::vector<std::string> one_rank{"--imbrex-nodes=1", "--imbrex-device=host", "--imbrex-machine-cpu=declared"};

std::vector<std::string> with_pes(int n) {
  std::vector<std::string> words = one_rank;
  words.push_back("--imbrex-pes=" + std::to_string(n));
  return words;
}

// The same in one process: a broadcast goes on before elements compute.
TEST(virtual_job, work_of_one_process_is_done_by_all_at_once) {
  for (const int pes : {2, 4, 21}) {
    double took = 0;
    EXPECT_EQ(run_on_quiet_machine(with_pes(pes), &computes_for_a_while, &took).code, 0);
    EXPECT_GT(took, 1000);
    EXPECT_LT(took, 1030) << pes;
  }
}

struct talker : ix::chare<talker, ix::index1d> {
  std::int64_t heard_at = 0;
  void hear() { heard_at = ix::clock::now().time_since_epoch().count(); }
  void talk_and_compute() {
    array()[1].send<&talker::hear>();
    ix::spend(10ms);
    array()[2].send<&talker::hear>();
    ix::spend(10ms);
  }
  std::int64_t when() { return heard_at; }
};

ix::task<int> talks_before_it_computes(ix::runtime& rt, double* first, double* second) {
  auto all = rt.create_group<talker>();
  co_await rt.quiescence();
  const auto begin = ix::clock::now();
  co_await all[0].call<&talker::talk_and_compute>();
  const std::int64_t heard = co_await all[1].call<&talker::when>(), later = co_await all[2].call<&talker::when>();
  *first = us(ix::clock::time_point(ix::clock::duration(heard)) - begin);
  *second = us(ix::clock::time_point(ix::clock::duration(later)) - begin);
  co_return 0;
}

TEST(virtual_job, messages_leave_when_they_are_sent) {
  double first = 0, second = 0;
  EXPECT_EQ(run_on_quiet_machine(with_pes(3), &talks_before_it_computes, &first, &second).code, 0);
  EXPECT_LT(first, 10);
  EXPECT_GT(second, 10'000);
  EXPECT_LT(second, 10'010);
}

ix::task<int> asks_another_rank(ix::runtime& rt, double* took) {
  auto all = rt.create_group<worker>();
  co_await all[3].call<&worker::answer>(1);
  const auto begin = ix::clock::now();
  const int answer = co_await all[3].call<&worker::answer>(39);
  *took = us(ix::clock::now() - begin);
  co_return answer == 42 ? 0 : 1;
}

// There and back: each way a send, 2 us of network and a little for its bytes, a receive, and what is run there.
TEST(virtual_job, a_call_takes_what_the_machine_says) {
  double took = 0;
  EXPECT_EQ(run_on_quiet_machine(four_ranks, &asks_another_rank, &took).code, 0);
  EXPECT_GE(took, 2 * (0.5 + 2 + 0.5 + 0.1));
  EXPECT_LE(took, 2 * (0.5 + 2 + 0.5 + 0.1) + 1);
}

TEST(virtual_job, the_same_seed_is_the_same_run) {
  std::vector<std::string> noisy{"--imbrex-machine=summit", "--imbrex-nodes=3", "--imbrex-device=host",
                                 "--imbrex-pes=2", "--imbrex-machine-cpu=declared"};
  const auto run_with_seed = [&](const std::string& seed) {
    std::vector<std::string> words = noisy;
    words.push_back("--imbrex-machine-seed=" + seed);
    double took = 0;
    const outcome o = run_on_quiet_machine(words, &computes_for_a_while, &took);
    EXPECT_EQ(o.code, 0);
    return std::pair(took, o.report["events"].get<std::uint64_t>());
  };
  const auto first = run_with_seed("5");
  EXPECT_EQ(first, run_with_seed("5"));
  EXPECT_NE(first.first, run_with_seed("6").first);
}

ix::task<int> measures_itself(ix::runtime& rt, double* took) {
  auto one = rt.create_group<worker>();
  static_cast<void>(one);
  const auto begin = ix::clock::now();
  volatile double x = 1;
  for (int i = 0; i < 3'000'000; ++i) x = x * 1.0000001;
  *took = us(ix::clock::now() - begin);
  co_return 0;
}

TEST(virtual_job, own_computing_takes_what_it_takes_here_or_nothing) {
  double took = 0;
  EXPECT_EQ(run_on_quiet_machine({"--imbrex-machine-cpu=measured", "--imbrex-pes=1"}, &measures_itself, &took).code, 0);
  EXPECT_GT(took, 500);
  EXPECT_EQ(run_on_quiet_machine({"--imbrex-machine-cpu=declared", "--imbrex-pes=1"}, &measures_itself, &took).code, 0);
  EXPECT_EQ(took, 0);
}

ix::task<int> submits_tasks(ix::runtime& rt, double* took) {
  static_cast<void>(rt);
  std::vector<ix::hetero_object<int>> objects;
  for (int i = 0; i < 64; ++i) objects.emplace_back(1);
  const auto begin = ix::clock::now();
  std::vector<ix::hetero_task> all;
  all.reserve(objects.size());
  for (auto& o : objects) {
    all.push_back(ix::submit(
        {.name = "costs a millisecond"},
        [](std::span<int> x) {
          ix::spend(1ms);
          x[0] = 1;
        },
        ix::write(o)));
  }
  for (const ix::hetero_task& t : all) co_await t;
  *took = us(ix::clock::now() - begin);
  co_return 0;
}

TEST(virtual_job, tasks_are_shared_by_what_they_say_they_take) {
  for (const int pes : {1, 2, 4}) {
    std::vector<double> all;
    for (int again = 0; again < 3; ++again) {
      double took = 0;
      EXPECT_EQ(run_on_quiet_machine(with_pes(pes), &submits_tasks, &took).code, 0);
      EXPECT_GE(took, 64'000 / pes);
      EXPECT_LE(took, 64'000 / pes + 3'000) << pes;
      all.push_back(took);
    }
    EXPECT_THAT(all, testing::Each(all[0])) << pes;
  }
}

ix::task<int> spends_wrongly(ix::runtime& rt) {
  static_cast<void>(rt);
  const auto begin = ix::clock::now();
  int refused = 0;
  for (const std::chrono::nanoseconds wrong : {-1ns, std::chrono::nanoseconds::max()}) {
    try {
      ix::spend(wrong);
    } catch (const ix::usage_error& e) {
      refused += std::string(e.what()).find(std::to_string(wrong.count())) != std::string::npos ? 1 : 0;
    }
  }
  co_return refused == 2 && ix::clock::now() == begin ? 0 : 1;
}

TEST(virtual_job, nothing_takes_less_than_nothing) {
  EXPECT_EQ(run_on_quiet_machine(with_pes(1), &spends_wrongly).code, 0);
}

TEST(virtual_job, options_without_effect_are_named) {
  std::vector<std::string> words = with_pes(1);
  words.insert(words.end(), {"--imbrex-spin-us=1", "--imbrex-pin=on", "--imbrex-machine-data=on"});
  double took = 0;
  const outcome o = run_on_quiet_machine(words, &measures_itself, &took);
  EXPECT_EQ(o.code, 0);
  for (const char* const name : {"spin-us", "pin", "machine-data"})
    EXPECT_THAT(o.errors, HasSubstr(fmt::format("--imbrex-{} does nothing here", name)));
}

// ------------------------------------------------------------------------------------------------ ends

struct thrower : ix::chare<thrower, ix::index1d> {
  void fall() {
    if (index().x == 2) throw ix::usage_error("there is no floor");
  }
  ix::when<int> never;
  ix::task<> wait() { co_await never(0); }
};

ix::task<int> falls(ix::runtime& rt) {
  rt.create_group<thrower>().broadcast<&thrower::fall>();
  co_await rt.quiescence();
  co_return 0;
}

TEST(virtual_job, failures_are_told_as_ever) {
  const outcome o = run_on_quiet_machine(four_ranks, &falls);
  EXPECT_EQ(o.code, 70);
  EXPECT_THAT(o.errors, HasSubstr("fall"));
  EXPECT_THAT(o.errors, HasSubstr("there is no floor"));
}

ix::task<int> waits_for_ever(ix::runtime& rt) {
  auto all = rt.create_group<thrower>();
  co_await all[1].call<&thrower::wait>();
  co_return 0;
}

TEST(virtual_job, deadlocks_are_told_as_ever) {
  const outcome o = run_on_quiet_machine(four_ranks, &waits_for_ever);
  EXPECT_EQ(o.code, 70);
  EXPECT_THAT(o.errors, HasSubstr("deadlock"));
  EXPECT_THAT(o.errors, HasSubstr("thrower(1) waits for"));
}

ix::task<int> ends_with_seven(ix::runtime&) { co_return 7; }

TEST(virtual_job, the_exit_code_is_the_programs) {
  EXPECT_EQ(run_on_quiet_machine(four_ranks, &ends_with_seven).code, 7);
}

TEST(virtual_job, options_that_cannot_be_are_named) {
  const auto complaint = [](std::vector<std::string> words) {
    const outcome o = run_on_quiet_machine(std::move(words), &ends_with_seven);
    EXPECT_EQ(o.code, 2);
    return o.errors;
  };
  EXPECT_THAT(complaint({"--imbrex-ranks=9"}), HasSubstr("--imbrex-nodes=9"));
  EXPECT_THAT(complaint({"--imbrex-device=opencl"}), HasSubstr("opencl"));
  EXPECT_THAT(complaint({"--imbrex-device=cuda", "--imbrex-gpus=3"}), HasSubstr("has 2"));
  EXPECT_THAT(complaint({"--imbrex-device=cuda", "--imbrex-ranks-per-node=4"}),
              HasSubstr("use at most 2 ranks a node"));
  EXPECT_THAT(complaint({"--imbrex-transport=loopback"}), HasSubstr("network of its own"));
  EXPECT_THAT(complaint({"--imbrex-checkpoint=/tmp/x"}), HasSubstr("leave out --imbrex-checkpoint"));
  EXPECT_THAT(complaint({"--imbrex-restart=/tmp/x"}), HasSubstr("leave out --imbrex-restart"));
}

ix::task<int> asks_for_what_only_real_machines_have(ix::runtime& rt) {
  std::string said;
  try {
    auto made = rt.checkpoint("folder");
    co_await made;
  } catch (const ix::usage_error& e) {
    said = e.what();
  }
  EXPECT_THAT(said, HasSubstr("a checkpoint was asked for on the simulated machine"));
  try {
    rt.resize(2);
  } catch (const ix::usage_error& e) {
    said = e.what();
  }
  EXPECT_THAT(said, HasSubstr("leave out resize"));
  co_return 0;
}

TEST(virtual_job, refuses_checkpoints_and_other_numbers_of_pes) {
  EXPECT_EQ(run_on_quiet_machine(four_ranks, &asks_for_what_only_real_machines_have).code, 0);
}

// ------------------------------------------------------------------------------------------------ GPUs

const std::vector<std::string> one_gpu{"--imbrex-device=cuda", "--imbrex-ranks=1"};

/// What is enqueued on GPUs: each takes `s` of a chare's, or of two chares on different ranks.
struct gpu_user : ix::chare<gpu_user, ix::index1d> {
  ix::task<double> copies(int bytes) {
    ix::buffer<std::byte> here(on_device(), static_cast<std::size_t>(bytes));
    ix::buffer<std::byte> there(on_device(), static_cast<std::size_t>(bytes), ix::memory_kind::pinned);
    auto s = on_device().make_stream(ix::stream_priority::low, "copies");
    const auto begin = ix::clock::now();
    s->copy(here.data(), there.data(), static_cast<std::size_t>(bytes));
    co_await s->done();
    co_return us(ix::clock::now() - begin);
  }
  ix::task<int> keeps_data() {
    ix::buffer<int> a(on_device(), 100, ix::memory_kind::pinned), b(on_device(), 100),
        c(on_device(), 100, ix::memory_kind::pinned);
    auto s = on_device().make_stream(ix::stream_priority::low, "first");
    auto t = on_device().make_stream(ix::stream_priority::high, "second");
    for (int i = 0; i < 100; ++i) a.data()[i] = i;
    s->copy(b.data(), a.data(), 400);
    int seen = 0;
    s->call("between", [&] { seen = 1; });
    s->fill(b.data(), 0, 40);
    t->after(*s);
    t->copy(c.data(), b.data(), 400);
    t->then("at last", [&] { seen = seen == 1 ? 2 : -1; });
    co_await t->done();
    int sum = 0;
    for (int i = 0; i < 100; ++i) sum += c.data()[i];
    co_return seen == 2 ? sum : -1;
  }
  int expects_wrongly() {
    auto s = on_device().make_stream(ix::stream_priority::low, "what nobody knows");
    int refused = 0;
    for (const ix::kernel_cost& wrong : {ix::kernel_cost{.bytes = -1}, ix::kernel_cost{.bytes = std::nan("")},
                                         ix::kernel_cost{.bytes = 1, .flops = 1e300}}) {
      s->expect(wrong);
      try {
        s->launched("my kernel", ix::launch_shape{}, nullptr);
      } catch (const ix::usage_error& e) {
        refused += std::string(e.what()).find("'my kernel' was said to cost") != std::string::npos ? 1 : 0;
      }
    }
    return refused;
  }
  ix::task<> exchange(int count) {
    const int other = index().x ^ 1;
    ix::channel<int> c(*this, array()[other], 0, 0, ix::memory_kind::device);
    auto s = on_device().make_stream(ix::stream_priority::low, "exchange");
    ix::buffer<int> out(on_device(), static_cast<std::size_t>(count)), in(on_device(), static_cast<std::size_t>(count)),
        host(on_device(), static_cast<std::size_t>(count), ix::memory_kind::pinned);
    for (int i = 0; i < count; ++i) host.data()[i] = index().x * 1000 + i;
    ix::copy(out, host, *s);
    auto sent = c.send(out.view(), *s);
    co_await c.recv(in.view(), *s);
    ix::copy(host, in, *s);
    co_await s->done();
    bool right = true;
    for (int i = 0; i < count; ++i) right &= host.data()[i] == other * 1000 + i;
    co_await sent;
    co_await s->done();
    contribute(right ? 1 : 0, ix::sum);
  }
};

ix::task<int> copy_once(ix::runtime& rt, double* took) {
  auto all = rt.create_group<gpu_user>();
  *took = co_await all[0].call<&gpu_user::copies>(100'000);
  co_return 0;
}

// The host pays 1 us; the copy begins 1 us later, takes 1 us and 10 us for its bytes; 1 us until that is noticed.
TEST(virtual_gpu, a_copy_takes_what_the_machine_says) {
  double took = 0;
  const outcome o = run_on_quiet_machine(one_gpu, &copy_once, &took);
  EXPECT_EQ(o.code, 0) << o.errors;
  EXPECT_GE(took, 14);
  EXPECT_LE(took, 16);
}

TEST(virtual_gpu, the_way_of_noticing_counts) {
  double by_flag = 0, by_callback = 0, by_sync = 0;
  auto words = one_gpu;
  EXPECT_EQ(run_on_quiet_machine(words, &copy_once, &by_flag).code, 0);
  words.emplace_back("--imbrex-completion=callback");
  EXPECT_EQ(run_on_quiet_machine(words, &copy_once, &by_callback).code, 0);
  words.back() = "--imbrex-completion=sync";
  EXPECT_EQ(run_on_quiet_machine(words, &copy_once, &by_sync).code, 0);
  EXPECT_NEAR(by_callback - by_flag, 29, 0.5);
  EXPECT_GT(by_sync, by_flag);
}

ix::task<int> expect_wrongly(ix::runtime& rt) {
  auto all = rt.create_group<gpu_user>();
  co_return co_await all[0].call<&gpu_user::expects_wrongly>();
}

TEST(virtual_gpu, costs_that_cannot_be_are_refused) {
  EXPECT_EQ(run_on_quiet_machine(one_gpu, &expect_wrongly).code, 3);
}

ix::task<int> keep_data(ix::runtime& rt) {
  auto all = rt.create_group<gpu_user>();
  const int sum = co_await all[0].call<&gpu_user::keeps_data>();
  co_return sum == 4950 - 45 ? 0 : 1;
}

TEST(virtual_gpu, data_go_where_they_are_copied_in_the_order_of_streams) {
  for (const char* const way : {"flag", "event", "callback", "sync"}) {
    auto words = one_gpu;
    words.push_back(std::string("--imbrex-completion=") + way);
    const outcome o = run_on_quiet_machine(words, &keep_data);
    EXPECT_EQ(o.code, 0) << way << o.errors;
  }
}

ix::task<int> exchange_all(ix::runtime& rt, int count) {
  auto all = rt.create_group<gpu_user>();
  all.broadcast<&gpu_user::exchange>(count);
  co_return co_await all.reduction<int>() == rt.num_pes() ? 0 : 1;
}

// Pairs of ranks of one node, of different nodes (a rank each), and of one process; small and large; every protocol.
TEST(virtual_gpu, channels_carry_data_by_every_way) {
  for (const int count : {10, 5000, 400'000}) {
    for (const char* const protocol : {"auto", "packed", "staged", "direct", "shared"}) {
      for (const std::vector<std::string>& shape : {std::vector<std::string>{"--imbrex-nodes=2"},
                                                    {"--imbrex-nodes=4", "--imbrex-ranks-per-node=1"},
                                                    {"--imbrex-nodes=2", "--imbrex-gpus=2"}}) {
        auto words = shape;
        words.emplace_back("--imbrex-device=cuda");
        words.push_back(std::string("--imbrex-protocol=") + protocol);
        const outcome o = run_on_quiet_machine(words, &exchange_all, count);
        EXPECT_EQ(o.code, 0) << count << protocol << shape.back() << o.errors;
      }
    }
  }
}

ix::task<int> allocate_too_much(ix::runtime&) {
  ix::buffer<std::byte> b(*ix::scheduler::current().default_device, 2'000'000'000);
  co_return 0;
}

TEST(virtual_gpu, its_memory_ends) {
  const outcome o = run_on_quiet_machine(one_gpu, &allocate_too_much);
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.errors, HasSubstr("GPU 0 of node 0"));
}

ix::task<int> use_memory_without_bytes(ix::runtime& rt) {
  auto all = rt.create_group<gpu_user>();
  ix::buffer<int> pinned(*ix::scheduler::current().default_device, 100, ix::memory_kind::pinned);
  all.broadcast<&gpu_user::copies>(900'000'000);
  co_await rt.quiescence();
  co_return pinned.data()[7];
}

TEST(virtual_gpu, memory_without_bytes_takes_none) {
  const outcome o = run_on_quiet_machine({"--imbrex-device=cuda", "--imbrex-nodes=50", "--imbrex-machine-data=off"},
                                         &use_memory_without_bytes);
  EXPECT_EQ(o.code, 0) << o.errors;
  EXPECT_EQ(o.report["gpus"], 100);
}

}  // namespace

#endif

}  // namespace virtual_job_test
