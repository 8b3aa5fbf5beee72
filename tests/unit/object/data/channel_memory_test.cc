#include <gmock/gmock.h>

#include <numeric>

#include "imbrex/base/memory/sanitizer.h"
#include "unit/device/device_bench.h"
#include "unit/object/job.h"

namespace channel_memory_test {

using namespace imbrex;
using namespace imbrex_test;

/// One source for every device and for both kinds of memory.
namespace {

constexpr std::size_t length = 3000;
constexpr int rounds = 12;

/// Passes on what came from the left: the same calls whatever the memory is.
struct passer : chare<passer, index1d> {
  explicit passer(bool of_device) : kind_(of_device ? memory_kind::device : memory_kind::pinned) {}

  task<bool> pass(bool borrows) {
    const int n = extent(), right = (index() + 1) % n, left = (index() + n - 1) % n;
    const memory_kind of_channel = kind_ == memory_kind::device ? memory_kind::device : memory_kind::host;
    channel<int> out(*this, array()[right], 0, 1, of_channel), in(*this, array()[left], 1, 0, of_channel);
    co_await barrier();
    stream& s = streams().compute;
    buffer<int> mine[2] = {{on_device(), length, kind_}, {on_device(), length, kind_}};
    buffer<int> theirs(on_device(), length, kind_);
    buffer<int> host(on_device(), length, memory_kind::pinned);
    std::iota(host.data(), host.data() + length, 1000 * index());
    copy(mine[0].view(), buffer_view<const int>(host), s);
    for (int i = 0; i < rounds; ++i) {
      auto sent = out.send(mine[i % 2].view(), s);
      buffer<int>& next = mine[(i + 1) % 2];
      if (borrows) {
        received<int> r = co_await in.borrow(s);
        s.copy(next.data(), r.data(), r.size() * sizeof(int));
      } else {
        const std::size_t count = co_await in.recv(theirs.view(), s);
        s.copy(next.data(), theirs.data(), count * sizeof(int));
      }
      co_await sent;
      s.fill(mine[i % 2].data(), 0xff, length * sizeof(int));
    }
    copy(host.view(), buffer_view<const int>(mine[rounds % 2]), s);
    co_await s.done();
    const int from = ((index() - rounds) % n + n) % n;
    bool good = true;
    for (std::size_t k = 0; k < length; ++k) good = good && host.data()[k] == 1000 * from + static_cast<int>(k);
    co_await barrier();
    co_return good;
  }

 private:
  memory_kind kind_;
};

task<int> passed(runtime& rt, bool of_device, bool borrows) {
  auto ring = rt.create_array<passer>(index1d(3), of_device);
  auto a = ring[0].call<&passer::pass>(borrows), b = ring[1].call<&passer::pass>(borrows),
       c = ring[2].call<&passer::pass>(borrows);
  auto all = when_all(std::move(a), std::move(b), std::move(c));
  const auto [x, y, z] = co_await std::move(all);
  co_return x&& y&& z ? 0 : 1;
}

struct channel_memory : testing::TestWithParam<device_kind> {
  void SetUp() override {
    if (const std::string why = why_without(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
  int run(const job_shape& s, auto start, auto... extra) {
    command_line line(s, {std::string("--imbrex-device=") + to_string(GetParam())});
    return imbrex::run(line.count(), line.values(), start, extra...);
  }
};

TEST_P(channel_memory, one_source_borrows_and_receives_every_kind) {
  for (const bool of_device : {false, true}) {
    for (const bool borrows : {false, true}) {
      for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 3}, job_shape{1, 3, 5, 100}}) {
        SCOPED_TRACE(to_text(s) + (of_device ? ", device" : ", host") + (borrows ? ", borrowed" : ", received"));
        EXPECT_EQ(run(s, passed, of_device, borrows), 0);
      }
    }
  }
}

/// Enqueues what reads a borrowed message, and lets the message go before it has run.
struct reader : chare<reader, index1d> {
  task<bool> exchange() {
    channel<int> other(*this, array()[1 - index()], 0, 0);
    co_await barrier();
    stream& s = streams().compute;
    std::vector<int> mine(length), got(length);
    bool good = true;
    for (int i = 0; i < rounds; ++i) {
      mine.assign(length, i);
      auto sent = other.send(buffer_view<const int>(mine), streams().pack);
      received<int> r = co_await other.borrow(s);
      s.call("read", [to = got.data(), from = r.data()] { std::copy_n(from, length, to); });
      r = received<int>();
      co_await sent;  // the memory is written again: by now it has been read
      co_await s.done();
      good = good && got.front() == i && got.back() == i;
    }
    co_await barrier();
    co_return good;
  }
};

task<int> exchanged(runtime& rt) {
  auto both = rt.create_array<reader>(index1d(2));
  auto a = both[0].call<&reader::exchange>(), b = both[1].call<&reader::exchange>();
  auto all = when_all(std::move(a), std::move(b));
  const auto [x, y] = co_await std::move(all);
  co_return x&& y ? 0 : 1;
}

TEST_P(channel_memory, of_the_host_goes_back_in_the_order_of_the_stream) {
  for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}, job_shape{2, 1, 9}}) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run(s, exchanged), 0);
  }
}

/// The two ends are made for different kinds.
struct mixed : chare<mixed, index1d> {
  task<std::string> meet(bool borrows) {
    const bool first = index().x == 0;
    channel<int> other(*this, array()[1 - index()], 0, 0, first ? memory_kind::device : memory_kind::host);
    co_await barrier();
    stream& s = streams().compute;
    buffer<int> mine(on_device(), length, first ? memory_kind::device : memory_kind::pinned);
    buffer<int> theirs(on_device(), length, mine.kind()), host(on_device(), length, memory_kind::pinned);
    s.fill(mine.data(), 1, length * sizeof(int));
    auto sent = other.send(mine.view(), s);
    if (borrows) {
      received<int> r = co_await other.borrow(s);
      s.copy(theirs.data(), r.data(), r.size() * sizeof(int));
    } else {
      co_await other.recv(theirs.view(), s);
    }
    copy(host.view(), buffer_view<const int>(theirs), s);
    co_await s.done();
    co_await sent;
    co_return host.data()[0] == 0x01010101 && host.data()[length - 1] == 0x01010101 ? "right" : "wrong";
  }
};

task<int> met(runtime& rt, bool borrows) {
  auto both = rt.create_array<mixed>(index1d(2));
  auto a = both[0].call<&mixed::meet>(borrows), b = both[1].call<&mixed::meet>(borrows);
  auto all = when_all(std::move(a), std::move(b));
  const auto [of_device, of_host] = co_await std::move(all);
  EXPECT_EQ(of_device, "right");
  EXPECT_EQ(of_host, "right");
  co_return 0;
}

TEST_P(channel_memory, of_two_kinds_meets_in_one_channel) {
  EXPECT_EQ(run({2, 1}, met, false), 0);
  EXPECT_EQ(run({1, 2}, met, false), 0);
  EXPECT_EQ(run({1, 2}, met, true), 0);
  if (GetParam() == device_kind::host) {
    EXPECT_EQ(run({2, 1}, met, true), 0);
    return;
  }
  testing::internal::CaptureStderr();    // the host cannot read a device's memory where it is
  EXPECT_EQ(run({2, 1}, met, true), 2);  // thrown at who receives, and by the main chare, which waits for that
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("receive it by recv"));
}

struct wrong : chare<wrong, index1d> {
  void send() {
    channel<int> out(*this, array()[1 - index()], 0, 1, memory_kind::device);
    std::vector<int> ordinary(5);
    out.send(ordinary, streams().pack);
  }
};
task<int> sent_wrongly(runtime& rt) {
  auto both = rt.create_array<wrong>(index1d(2));
  both[0].send<&wrong::send>();
  co_await rt.quiescence();
  co_return 0;
}

TEST_P(channel_memory, of_another_kind_is_a_named_error) {
  if (GetParam() == device_kind::host) GTEST_SKIP() << "the host's memory is the host device's own";
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({1, 1}, sent_wrongly), 70);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("is made for device memory, but was given host memory"));
}

/// Sends what nobody receives.
struct unheard : chare<unheard, index1d> {
  task<> talk(std::size_t size) {
    other_ = channel<int>(*this, array()[1 - index()], 0, 0, memory_kind::device);
    co_await barrier();
    data_ = buffer<int>(on_device(), size);
    streams().compute.fill(data_.data(), 1, size * sizeof(int));
    if (index() == 0) other_.send(data_.view(), streams().compute);
  }

 private:
  channel<int> other_;
  buffer<int> data_;
};

task<int> talked(runtime& rt, std::size_t size) {
  const auto both = rt.create_array<unheard>(index1d(2));
  both.broadcast<&unheard::talk>(size);
  co_await rt.quiescence();
  rt.exit(9);
  co_return 0;
}

// A message that waits for a receive is nothing under way, whichever way it has come, and makes nothing else so.
TEST_P(channel_memory, that_nobody_receives_lets_a_job_become_quiet) {
  for (const char* const protocol : {"auto", "packed", "staged", "direct", "shared"}) {
    for (const std::size_t size : {100, 6000, 3'000'000}) {
      for (const job_shape& s : {job_shape{1, 2}, job_shape{2, 1}, job_shape{1, 2, 7, 30}}) {
        SCOPED_TRACE(to_text(s) + ", " + protocol + ", " + std::to_string(size));
        command_line line(
            s, {std::string("--imbrex-device=") + to_string(GetParam()), std::string("--imbrex-protocol=") + protocol});
        EXPECT_EQ(imbrex::run(line.count(), line.values(), talked, size), 9);
      }
    }
  }
}

/// Keeps what it has borrowed.
struct keeper : chare<keeper, index1d> {
  task<> talk(std::size_t size) {
    other_ = channel<int>(*this, array()[1 - index()], 0, 0, memory_kind::device);
    co_await barrier();
    stream& s = streams().compute;
    data_ = buffer<int>(on_device(), size);
    s.fill(data_.data(), 1, size * sizeof(int));
    other_.send(data_.view(), s);
    kept_ = co_await other_.borrow(s);
  }

 private:
  channel<int> other_;
  buffer<int> data_;
  received<int> kept_;
};

task<int> kept(runtime& rt, std::size_t size, bool waits) {
  const auto both = rt.create_array<keeper>(index1d(2));
  both.broadcast<&keeper::talk>(size);
  if (waits) co_await rt.quiescence();
  co_return 0;
}

TEST_P(channel_memory, that_is_kept_lets_a_job_become_quiet_and_end) {
  for (const char* const protocol : {"auto", "packed", "staged", "direct", "shared"}) {
    for (const std::size_t size : {100, 6000, 3'000'000}) {
      if (any_sanitizer && size > 6000) continue;
      for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}}) {
        SCOPED_TRACE(to_text(s) + ", " + protocol + ", " + std::to_string(size));
        command_line line(
            s, {std::string("--imbrex-device=") + to_string(GetParam()), std::string("--imbrex-protocol=") + protocol});
        EXPECT_EQ(imbrex::run(line.count(), line.values(), kept, size, size != 6000), 0);
      }
    }
  }
}

/// Sends to one who is said to be on its way to this PE, and stays in another process.
struct misled : chare<misled, index1d> {
  task<bool> talk() {
    channel<int> other(*this, array()[1 - index()], 0, 0, memory_kind::device);
    co_await barrier();
    stream& s = streams().compute;
    buffer<int> there(on_device(), length), host(on_device(), length, memory_kind::pinned);
    if (index() == 0) {
      scheduler& here = scheduler::current();
      here.send(here.id(), location_update<index1d>{array().id(), index1d(1), here.id(), 100, false},
                priorities::communication);
    }
    co_await barrier();
    if (index() == 0) {
      for (int i = 0; i < 50; ++i)  // by this PE, while the message is on its way
        s.call("write", [to = host.data(), i] { std::iota(to, to + length, i - 49); });
      copy(there.view(), buffer_view<const int>(host), s);
      co_await other.send(there.view(), s);
      co_return true;
    }
    co_await other.recv(there.view(), s);
    copy(host.view(), buffer_view<const int>(there), s);
    co_await s.done();
    co_return host.data()[0] == 0 && host.data()[length - 1] == static_cast<int>(length) - 1;
  }
};

task<int> was_misled(runtime& rt) {
  const auto both = rt.create_array<misled>(index1d(2));
  auto a = both[0].call<&misled::talk>(), b = both[1].call<&misled::talk>();
  auto all = when_all(std::move(a), std::move(b));
  const auto [x, y] = co_await std::move(all);
  co_return x&& y ? 0 : 1;
}

// By way of its home, in another process, the message goes with its data, once they are there.
TEST_P(channel_memory, comes_where_nobody_is_yet) { EXPECT_EQ(run({1, 2}, was_misled), 0); }

INSTANTIATE_TEST_SUITE_P(devices, channel_memory, testing::ValuesIn(all_device_kinds),
                         [](const auto& i) { return to_string(i.param); });

}  // namespace

}  // namespace channel_memory_test
