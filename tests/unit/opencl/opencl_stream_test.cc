#include "imbrex/device/opencl/opencl_stream.h"

#include <numeric>

#include "imbrex/async/progress_pair.h"
#include "imbrex/base/error.h"
#include "imbrex/device/host/host_device.h"
#include "opencl_fixture.h"
#include "unit/device/held_stream.h"

namespace opencl_stream_test {

using namespace imbrex;
using namespace imbrex_test;
using testing::HasSubstr;

namespace {

struct opencl_stream_test : testing::Test {
  void SetUp() override {
    SKIP_WITHOUT_OPENCL();
    pe = std::make_unique<opencl_pe>();
  }
  opencl_device& on() { return pe->on(); }

  std::unique_ptr<opencl_pe> pe;
};

template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST_F(opencl_stream_test, copies_and_kernels_run_in_order) {
  constexpr std::size_t n = 100'000;
  for (std::size_t d = 0; d < pe->devices.size(); ++d) {
    SCOPED_TRACE(pe->on(d).processor().full_name());
    auto s = pe->make(d);
    buffer<std::int64_t> host(pe->on(d), n, memory_kind::pinned), data(pe->on(d), n);
    std::iota(host.data(), host.data() + n, 0);
    s->copy(data.data(), host.data(), n * 8);
    multiply_add(*s, data.data(), n, 3, 5);
    multiply_add(*s, data.data() + 1000, n - 1000, 2, 1);  // from the middle of an allocation on
    s->copy(host.data(), data.data(), n * 8);
    pe->finish(*s);
    for (std::size_t i = 0; i < n; ++i) {
      const auto once = static_cast<std::int64_t>(i) * 3 + 5;
      ASSERT_EQ(host.data()[i], i < 1000 ? once : once * 2 + 1);
    }
  }
}

TEST_F(opencl_stream_test, local_memory_is_an_argument_or_comes_last) {
  auto s = pe->make();
  buffer<int> from(on(), 64), to(on(), 64), host(on(), 64, memory_kind::pinned);
  std::iota(host.data(), host.data() + 64, 0);
  s->copy(from.data(), host.data(), 256);
  const std::array named{opencl_argument::pointer(from.data()), opencl_argument::pointer(to.data()),
                         opencl_argument::local(16 * sizeof(int))};
  s->launch_program_kernel(test_program, "", "reverse_groups", {4, 1, 1}, {16, 1, 1}, 0, named);
  s->copy(host.data(), to.data(), 256);
  pe->finish(*s);
  for (int i = 0; i < 64; ++i) ASSERT_EQ(host.data()[i], i / 16 * 16 + 15 - i % 16);
  s->launch_program_kernel(test_program, "", "reverse_groups", {8, 1, 1}, {8, 1, 1}, 8 * sizeof(int),
                           std::span(named).first(2));
  s->copy(host.data(), to.data(), 256);
  pe->finish(*s);
  for (int i = 0; i < 64; ++i) ASSERT_EQ(host.data()[i], i / 8 * 8 + 7 - i % 8);
}

TEST_F(opencl_stream_test, values_are_passed_as_bytes_and_groups_in_three_dimensions) {
  auto s = pe->make();
  struct {
    int a;
    float b;
  } pair{2, 0.5F};
  buffer<float> to(on(), 1);
  buffer<unsigned> places(on(), 4 * 6 * 2);
  float seen = 0;
  std::array<unsigned, 48> where{};
  s->launch_program_kernel(test_program, nullptr, "store_pair", {1, 1, 1}, {1, 1, 1}, 0,
                           std::array{opencl_argument::pointer(to.data()), opencl_argument::value(pair)});
  s->copy(&seen, to.data(), sizeof seen);
  s->launch_program_kernel(test_program, nullptr, "store_place", {2, 3, 1}, {2, 2, 2}, 0,
                           std::array{opencl_argument::pointer(places.data())});
  s->copy(where.data(), places.data(), sizeof where);
  pe->finish(*s);
  EXPECT_EQ(seen, 2.5F);
  EXPECT_EQ(where[0], 0U);
  EXPECT_EQ(where[47], 21U);
  EXPECT_EQ(where[4 * 2 + 1], 10U);
}

TEST_F(opencl_stream_test, null_is_passed_as_null_at_first_and_after_an_address) {
  for (std::size_t d = 0; d < pe->devices.size(); ++d) {
    SCOPED_TRACE(pe->on(d).processor().full_name());
    auto s = pe->make(d);
    buffer<float> somewhere(pe->on(d), 1);
    buffer<int> answer(pe->on(d), 1);
    for (const float* p : {static_cast<float*>(nullptr), somewhere.data(), static_cast<float*>(nullptr)}) {
      int found = -1;
      s->launch_program_kernel(test_program, nullptr, "is_null", {1, 1, 1}, {1, 1, 1}, 0,
                               std::array{opencl_argument::pointer(p), opencl_argument::pointer(answer.data())});
      s->copy(&found, answer.data(), sizeof found);
      pe->finish(*s);
      EXPECT_EQ(found, p == nullptr ? 1 : 0);
    }
  }
}

// NVIDIA's driver reads small pieces of the host's memory when a copy is enqueued.
TEST_F(opencl_stream_test, what_a_copy_to_the_host_writes_another_copies_on_from_there) {
  for (std::size_t d = 0; d < pe->devices.size(); ++d) {
    SCOPED_TRACE(pe->on(d).processor().full_name());
    auto first = pe->make(d), second = pe->make(d);
    for (const std::size_t n : {16, 4096, 1 << 18}) {
      buffer<int> a(pe->on(d), n), b(pe->on(d), n), c(pe->on(d), n);
      std::vector<int> host(n), again(n), found(n);
      for (int round = 1; round <= 5; ++round) {
        std::ranges::fill(host, 0);
        std::ranges::fill(again, 0);
        const int rounds = 1000 * round;
        first->launch_program_kernel(test_program, nullptr, "count_up", {static_cast<unsigned>(n / 16), 1, 1},
                                     {16, 1, 1}, 0,
                                     std::array{opencl_argument::pointer(a.data()), opencl_argument::value(rounds)});
        first->copy(host.data(), a.data(), n * sizeof(int));
        first->copy(b.data(), host.data(), n * sizeof(int));  // in the same stream
        first->copy(again.data(), b.data(), n * sizeof(int));
        second->wait(first->record());
        second->copy(c.data(), again.data(), n * sizeof(int));  // in one that waits for it
        second->copy(found.data(), c.data(), n * sizeof(int));
        pe->finish(*first);
        pe->finish(*second);
        ASSERT_EQ(found.front(), rounds);
        ASSERT_EQ(found.back(), rounds);
      }
    }
  }
}

/// Wider and wider grids, each while a narrower one of the same kernel runs in another queue.
void widen(opencl_pe& pe, std::size_t d) {
  auto first = pe.make(d), second = pe.make(d);
  buffer<int> to(pe.on(d), 1024 * 16);
  int seen = 0;
  for (unsigned wider = 2; wider <= 1024; wider *= 2) {
    const auto launch = [&](opencl_stream& s, unsigned groups, int rounds) {
      s.launch_program_kernel(test_program, nullptr, "count_up", {groups, 1, 1}, {16, 1, 1}, 0,
                              std::array{opencl_argument::pointer(to.data()), opencl_argument::value(rounds)});
    };
    launch(*first, wider / 2, 100'000);
    launch(*second, wider, static_cast<int>(wider));
    second->copy(&seen, to.data() + wider * 16 - 1, sizeof seen);
    pe.finish(*second);
    pe.finish(*first);
    EXPECT_EQ(seen, static_cast<int>(wider));
  }
}

// PoCL 5 ended the process here.
TEST_F(opencl_stream_test, a_wider_grid_comes_while_a_narrower_one_runs) {
  for (std::size_t d = 0; d < pe->devices.size(); ++d) {
    SCOPED_TRACE(pe->on(d).processor().full_name());
    widen(*pe, d);
  }
}

TEST_F(opencl_stream_test, grids_that_are_wider_than_all_before_run_alone_where_the_driver_needs_it) {
  EXPECT_TRUE(opencl_widening::is_needed("Portable Computing Language", "5.0+debian"));
  EXPECT_TRUE(opencl_widening::is_needed("Portable Computing Language", "4.0"));
  EXPECT_FALSE(opencl_widening::is_needed("Portable Computing Language", "3.1+debian"));
  EXPECT_FALSE(opencl_widening::is_needed("Portable Computing Language", "6.0"));
  EXPECT_FALSE(opencl_widening::is_needed("NVIDIA CUDA", "5.0"));
  for (std::size_t d = 0; d < pe->devices.size(); ++d) {
    SCOPED_TRACE(pe->on(d).processor().full_name());
    const opencl_widening& w = pe->on(d).processor().let_wider_launches_run_alone();
    widen(*pe, d);
    EXPECT_EQ(w.num_widened(), 11);  // 1, 2, 4 ... 1024 groups
    widen(*pe, d);
    EXPECT_EQ(w.num_widened(), 11);
  }
}

TEST_F(opencl_stream_test, arguments_that_do_not_fit_are_named) {
  auto s = pe->make();
  buffer<std::int64_t> data(on(), 10), pinned(on(), 10, memory_kind::pinned);
  EXPECT_THAT(message_of<usage_error>([&] {
                s->launch_program_kernel(test_program, nullptr, "multiply_add", {1, 1, 1}, {1, 1, 1}, 0,
                                         std::array{opencl_argument::pointer(data.data())});
              }),
              testing::AllOf(HasSubstr("multiply_add"), HasSubstr("4 arguments"), HasSubstr("given 1")));
  EXPECT_THAT(message_of<usage_error>([&] { multiply_add(*s, pinned.data(), 10, 1, 1); }),
              testing::AllOf(HasSubstr("argument 0"), HasSubstr("multiply_add")));
  EXPECT_THAT(message_of<device_error>([&] {
                s->launch_program_kernel(test_program, nullptr, "no_such_kernel", {1, 1, 1}, {1, 1, 1}, 0, {});
              }),
              HasSubstr("no_such_kernel"));
  multiply_add(*s, data.data(), 10, 1, 1);  // it goes on
  pe->finish(*s);
}

TEST_F(opencl_stream_test, a_refused_launch_names_kernel_stream_and_sizes) {
  auto s = pe->make();
  buffer<unsigned> to(on(), 10);
  EXPECT_THAT(message_of<device_error>([&] {
                s->launch_program_kernel(test_program, nullptr, "store_place", {1, 1, 1}, {1 << 20, 1, 1}, 0,
                                         std::array{opencl_argument::pointer(to.data())});
              }),
              testing::AllOf(HasSubstr("store_place"), HasSubstr("the stream of a test"), HasSubstr("1048576"),
                             HasSubstr("CL_INVALID_WORK")));
  EXPECT_TRUE(s->idle());
}

TEST_F(opencl_stream_test, streams_of_other_kinds_of_devices_are_awaited_not_waited_for) {
  host_memory memory;
  host_device host(pe->pe.queue, 0, memory);
  auto of_host = host.make_stream(stream_priority::low, "a stream of the host");
  auto s = pe->make();
  of_host->call("later", [] {});
  const event e = of_host->record();
  EXPECT_THAT(message_of<usage_error>([&] { s->wait(e); }), HasSubstr("done()"));
  buffer<std::byte> data(on(), 64 << 20);
  hold(*s, [&] { s->fill(data.data(), 0, data.size()); });
  s->fill(data.data(), 0, data.size());
  const event mine = s->record();
  EXPECT_THROW(of_host->wait(mine), usage_error);
  pe->run_until([&] { return e.complete() && mine.complete(); });
  s->wait(e);
  of_host->wait(mine);
  pe->finish(*s);
}

/// Of two devices, of one platform or two: PoCL shows the CPU as often as it is told to.
TEST_F(opencl_stream_test, several_devices_wait_for_each_other_and_copy_by_way_of_the_host) {
  if (pe->devices.size() < 2) GTEST_SKIP() << "there is one device of OpenCL";
  EXPECT_FALSE(on().reaches(pe->on(1)));
  auto s = pe->make(), t = pe->make(1);
  buffer<std::int64_t> here(on(), 1000), there(pe->on(1), 1000), host(on(), 1000, memory_kind::pinned);
  s->fill(here.data(), 0, 8000);
  for (int i = 0; i < 100; ++i) {
    multiply_add(*s, here.data(), 1000, 1, 1);
    t->after(*s);
    t->copy(there.data(), here.data(), 8000);
    multiply_add(*t, there.data(), 1000, 1, 1);
    s->after(*t);
    if (i % 2 == 0) {
      s->copy(here.data(), there.data(), 8000);
    } else {
      t->copy(here.data(), there.data(), 8000);
      s->after(*t);
    }
  }
  s->copy(host.data(), here.data(), 8000);
  EXPECT_THROW(t->fill(here.data(), 0, 8000), usage_error);
  pe->finish(*s);
  EXPECT_EQ(host.data()[0], 200);
  EXPECT_EQ(host.data()[999], 200);
  pe->finish(*t);
  EXPECT_EQ(pe->on(1).used(memory_kind::pinned).in_use, 0U) << "what was between them is given back";
}

TEST_F(opencl_stream_test, several_devices_may_be_left_while_one_copies_from_the_other) {
  if (pe->devices.size() < 2) GTEST_SKIP() << "there is one device of OpenCL";
  buffer<std::byte> here(on(), 1 << 20), there(pe->on(1), 1 << 20);
  for (const int polls : {0, 1, 2, 3}) {
    auto s = pe->make(), t = pe->make(1);
    bool ran = false;
    s->fill(here.data(), 1, here.size());
    t->after(*s);
    t->copy(there.data(), here.data(), here.size());
    t->copy(here.data(), there.data(), here.size());
    t->then("look", [&] { ran = true; });
    for (int i = 0; i < polls; ++i) pe->completion.poll();
    t.reset();
    s->after(*pe->make(1));
    pe->finish(*s);
    EXPECT_EQ(pe->on(1).used(memory_kind::pinned).in_use, 0U);
  }
}

TEST_F(opencl_stream_test, what_is_kept_behind_a_function_has_the_arguments_of_its_call) {
  auto s = pe->make();
  buffer<std::int64_t> data(on(), 100), host(on(), 100, memory_kind::pinned);
  s->fill(data.data(), 0, 800);
  int launched = 0;
  for (int i = 0; i < 20; ++i) {
    multiply_add(*s, data.data(), 100, 2, i);
    s->call("count", [&] {
      ++launched;
      s->then("more", [&] { ++launched; });  // goes behind all that was enqueued before
    });
  }
  EXPECT_THROW(multiply_add(*s, host.data(), 100, 1, 1), usage_error) << "not later";
  s->copy(host.data(), data.data(), 800);
  pe->finish(*s);
  std::int64_t expected = 0;
  for (int i = 0; i < 20; ++i) expected = 2 * expected + i;
  EXPECT_EQ(host.data()[99], expected);
  EXPECT_EQ(launched, 40);
}

struct counted_source final : progress_source {
  void poll() override { ++polls; }
  bool pending() const override { return is_pending; }
  void ensure_noticed() override { ++noticed; }
  void let_pass() noexcept override {}
  bool drain(std::int64_t) noexcept override {
    ++drains;
    return true;
  }
  int polls = 0, noticed = 0, drains = 0;
  bool is_pending = false;
};

TEST_F(opencl_stream_test, a_pe_may_look_after_other_devices_as_well) {
  counted_source others;
  executor& queue = pe->pe.queue;
  queue.devices = &others;
  opencl_devices devices({0}, {0});
  devices.add_pe(queue);
  ASSERT_NE(queue.devices, &others);
  device& d = devices.of_pe(0);
  EXPECT_EQ(devices.all_of_pe(0), std::vector<device*>{&d});
  auto s = d.make_stream(stream_priority::low, "a stream");
  buffer<std::byte> data(d, 64 << 20);
  bool ran = false;
  hold(*s, [&] { s->fill(data.data(), 0, data.size()); });
  s->call("look", [&] { ran = true; });
  EXPECT_TRUE(queue.devices->pending());
  while (!ran) queue.devices->poll();
  EXPECT_GT(others.polls, 0);
  others.is_pending = true;
  EXPECT_TRUE(queue.devices->pending());
  queue.devices->ensure_noticed();
  EXPECT_TRUE(queue.devices->drain(INT64_MAX));
  EXPECT_EQ(others.noticed + others.drains, 2);
}

TEST_F(opencl_stream_test, steady_launches_build_nothing_and_take_little) {
  auto s = pe->make();
  buffer<std::int64_t> data(on(), 100);
  s->fill(data.data(), 0, 800);
  multiply_add(*s, data.data(), 100, 1, 1);
  const std::string same(test_program);  // elsewhere, but the same
  const std::uint64_t compiled = on().processor().programs().used().compiled;
  for (int i = 0; i < 1000; ++i) multiply_add(*s, data.data(), 100, 1, 1, i % 2 == 0 ? test_program : same.c_str());
  std::int64_t seen = 0;
  s->copy(&seen, data.data() + 99, 8);
  pe->finish(*s);
  EXPECT_EQ(seen, 1001);
  EXPECT_EQ(on().processor().programs().used().compiled, compiled);
  EXPECT_LE(on().processor().programs().used().from_memory, 1U);
}

TEST(opencl_devices_test, share_pes_out_in_blocks_and_ranks_get_their_share) {
  EXPECT_EQ(opencl_devices::map_in_blocks(2, 4), (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(opencl_devices::map_in_blocks(1, 3), (std::vector<int>{0, 0, 0}));
  SKIP_WITHOUT_OPENCL();
  const int there = opencl_machine::count();
  EXPECT_EQ(opencl_devices::choose(there, 0, 1).size(), static_cast<std::size_t>(there));
  EXPECT_EQ(opencl_devices::choose(1, 5 * there, 100), (std::vector<int>{0}));  // more ranks than devices: shared
  EXPECT_THROW(opencl_devices::choose(there + 1, 0, 1), config_error);
  EXPECT_THROW(opencl_machine({there}), device_error);
}

}  // namespace

}  // namespace opencl_stream_test
