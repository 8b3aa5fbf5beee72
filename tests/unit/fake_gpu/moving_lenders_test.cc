// A chare whose memory a neighbour's GPU has still to read: it has been given back, for what the lender's stream does
// next, but must not go to others yet.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "imbrex/device/interop/cuda_native.h"
#include "unit/fake_gpu/cuda_fake.h"
#include "unit/object/job.h"

namespace moving_lenders_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t count = 4096;
constexpr unsigned char sent_word = 0x11, later_word = 0xEE;

/// Takes memory of its GPU and writes there, as soon as the lender has left.
struct neighbour : chare<neighbour> {
  task<> take() {
    for (int i = 0; i < 8; ++i) {
      taken_.emplace_back(on_device(), count);
      streams().compute.fill(taken_.back().data(), later_word, count);
    }
    co_await streams().compute.done();
  }

 private:
  std::vector<buffer<std::byte>> taken_;
};

struct reader;
struct lender : chare<lender, index1d> {
  lender() : out_(on_device(), count) {}
  void open(element_proxy<reader> to, element_proxy<neighbour> beside, bool keeps);
  task<int> run() {
    if (!has_sent_) {
      has_sent_ = true;
      streams().pack.fill(out_.data(), sent_word, count);
      channel_send sent = to_.send(out_.view(), streams().pack);
      if (keeps_) sent_ = std::make_unique<channel_send>(std::move(sent));
      co_await streams().pack.done();
      migrate_to(1);
    }
    for (; num_points_ < 20000000 && pe() == 0; ++num_points_) {
      proxy().send<&lender::again>(num_points_);
      co_await again(num_points_);
      co_await move_point(*this);
    }
    co_return pe();
  }
  using restartable = entry_list<&lender::run>;
  when<int> again;
  void has_moved(int) { beside_.send<&neighbour::take>(); }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & has_sent_ & keeps_ & num_points_ & beside_ & to_;
  }

 private:
  buffer<std::byte> out_;  // not part of the state: each has its own
  channel<std::byte> to_;
  std::unique_ptr<channel_send> sent_;
  element_proxy<neighbour> beside_;
  bool has_sent_ = false, keeps_ = false;
  int num_points_ = 0;
};

/// Its stream comes late to what it is to read.
struct reader : chare<reader> {
  void open(array_proxy<lender> from) { from_ = channel<std::byte>(*this, from[0], 0, 0, memory_kind::device); }
  task<int> run() {
    buffer<std::byte> in(on_device(), count), seen(on_device(), count, memory_kind::pinned);
    stream_set& s = streams();
    enqueue_native(s.unpack, "a long kernel", [](cudaStream_t native) {
      fake_cuda::launch(native, [] { std::this_thread::sleep_for(std::chrono::milliseconds(40)); });
    });
    co_await from_.recv(in.view(), s.unpack);
    s.unpack.copy(seen.data(), in.data(), count);
    co_await s.unpack.done();
    const auto* const bytes = reinterpret_cast<const unsigned char*>(seen.data());
    co_return bytes[0] == sent_word&& bytes[count - 1] == sent_word ? 0 : 1;
  }

 private:
  channel<std::byte> from_;
};

void lender::open(element_proxy<reader> to, element_proxy<neighbour> beside, bool keeps) {
  to_ = channel<std::byte>(*this, to, 0, 0, memory_kind::device);
  beside_ = beside;
  keeps_ = keeps;
}

task<int> lend_and_leave(imbrex::runtime& rt, bool keeps) {
  const auto all = rt.create_array<lender>(index1d(1));
  const auto at = rt.create_on<reader>(1);
  const auto beside = rt.create_on<neighbour>(0);
  auto opened = all[0].call<&lender::open>(at, beside, keeps);
  co_await std::move(opened);
  auto opened_there = at.call<&reader::open>(all);
  co_await std::move(opened_there);
  auto read = at.call<&reader::run>();
  auto moved = all[0].call<&lender::run>();
  auto both = when_all(std::move(read), std::move(moved));
  const auto [errors, pe] = co_await std::move(both);
  EXPECT_EQ(pe, 1);
  co_return errors;
}

TEST(moving_lenders, stay_until_their_memory_has_been_read) {
  for (const bool keeps : {true, false}) {
    for (const job_shape& s : {job_shape{2, 1}, {2, 1, 3}}) {
      SCOPED_TRACE(to_text(s) + (keeps ? ", the send is kept" : ", the send is dropped"));
      fake_cuda::start({.gpus = 2});
      command_line line(s, {"--imbrex-device=cuda"});
      EXPECT_EQ(run(line.count(), line.values(), lend_and_leave, keeps), 0);
      EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty());
    }
  }
}

struct listener;
/// What it has lent is back when it has waited for that, right before each of its points.
struct talker : chare<talker, index1d> {
  talker() : out_(on_device(), count) {}
  void open(element_proxy<listener> to);
  task<int> run() {
    while (num_points_ < most_points && pe() == 0) {
      streams().pack.fill(out_.data(), sent_word, count);
      channel_send sent = to_.send(out_.view(), streams().pack);
      co_await heard(num_points_);
      if (num_points_ == 2) migrate_to(1);
      co_await sent;
      ++num_points_;
      co_await move_point(*this);
    }
    co_return num_points_;
  }
  using restartable = entry_list<&talker::run>;
  when<int> heard;
  static constexpr int most_points = 200;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & num_points_ & to_ & heard;
  }

 private:
  buffer<std::byte> out_;
  channel<std::byte> to_;
  int num_points_ = 0;
};

struct listener : chare<listener> {
  void open(array_proxy<talker> from) {
    from_ = channel<std::byte>(*this, from[0], 0, 0, memory_kind::device);
    talkers_ = from;
  }
  task<> run() {
    buffer<std::byte> in(on_device(), count);
    for (int i = 0; i < talker::most_points; ++i) {
      co_await from_.recv(in.view(), streams().unpack);
      co_await streams().unpack.done();
      talkers_[0].send<&talker::heard>(i);
    }
  }

 private:
  channel<std::byte> from_;
  array_proxy<talker> talkers_;
};

void talker::open(element_proxy<listener> to) { to_ = channel<std::byte>(*this, to, 0, 0, memory_kind::device); }

task<int> lend_up_to_the_point(imbrex::runtime& rt) {
  const auto all = rt.create_array<talker>(index1d(1));
  const auto at = rt.create_on<listener>(0);
  auto opened = all[0].call<&talker::open>(at);
  co_await std::move(opened);
  auto opened_there = at.call<&listener::open>(all);
  co_await std::move(opened_there);
  at.send<&listener::run>();
  auto run = all[0].call<&talker::run>();
  const int num_points = co_await std::move(run);
  EXPECT_LE(num_points, 6) << "points that were passed though it was to move";
  rt.exit(0);
  co_return 0;
}

TEST(moving_lenders, go_though_their_memory_comes_back_right_before_the_point) {
  for (const job_shape& s : {job_shape{2, 1}, {1, 2}}) {
    SCOPED_TRACE(to_text(s));
    fake_cuda::start({.gpus = 2});
    command_line line(s, {"--imbrex-device=cuda"});
    EXPECT_EQ(run(line.count(), line.values(), lend_up_to_the_point), 0);
  }
}

}  // namespace

}  // namespace moving_lenders_test
