#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "unit/object/job.h"

namespace many_processes_test {

/// Loads of a job of very many processes, whose elements talk to each other all the time, through channels and by
/// messages, and go wherever the balancer sends them.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;

constexpr int steps = 12;

struct traveller : ix::chare<traveller, ix::index1d> {
  traveller() : out_(on_host(), 8), in_(on_host(), 8) {
    const int n = extent().x, i = index().x;
    to_ = ix::channel<int>(*this, array()[(i + 1) % n], 0, 1);
    from_ = ix::channel<int>(*this, array()[(i + n - 1) % n], 1, 0);
  }
  ix::task<> run() {
    const int n = extent().x, i = index().x;
    ix::stream_set& s = streams();
    while (step_ < steps) {
      // Every sixteenth is dear. Asleep: so many PEs cannot compute at once.
      std::this_thread::sleep_for(std::chrono::microseconds(i % 16 == 0 || i % 16 == 1 ? 4000 : 50));
      array()[(i + n / 3) % n].send<&traveller::heard>(step_, i);
      std::fill_n(out_.data(), out_.size(), 1000 * step_ + i);
      {
        const auto sent = to_.send(out_, s.pack);
        co_await from_.recv(in_, s.unpack);
        co_await s.unpack.done();
        errors_ += in_.data()[7] != 1000 * step_ + (i + n - 1) % n;
        co_await sent;
      }
      const auto [who] = co_await heard(step_);
      errors_ += who != (i + n - n / 3) % n;
      ++step_;
      if (step_ % 3 == 0) co_await ix::balance(*this);
      co_await ix::move_point(*this);
    }
    contribute(errors_, ix::sum);
  }
  using restartable = ix::entry_list<&traveller::run>;
  ix::when<int, int> heard;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & step_ & errors_ & heard;
    if constexpr (Archive::is_loading) ++crossings_of_all;
  }

  inline static std::atomic<int> crossings_of_all{0};

 private:
  ix::buffer<int> out_, in_;
  ix::channel<int> to_, from_;
  int step_ = 0;
  int errors_ = 0;
};

ix::task<int> start(ix::runtime& rt, int elements_of_pe) {
  const auto all = rt.create_array<traveller>(ix::index1d(elements_of_pe * rt.num_pes()));
  all.broadcast<&traveller::run>();
  const int errors = co_await all.reduction<int>();
  EXPECT_EQ(errors, 0);
  co_await rt.quiescence();
  co_return 0;
}

void run_on(const job_shape& s, const std::string& strategy, int elements_of_pe) {
  SCOPED_TRACE(strategy + ", " + to_text(s));
  traveller::crossings_of_all = 0;
  // What is measured is the time that passes: on a busy machine a plan may promise too little.
  for (int attempt = 0; attempt < 20 && traveller::crossings_of_all == 0; ++attempt) {
    imbrex_test::command_line line(s, {"--imbrex-balance=" + strategy, "--imbrex-balance-every-ms=0"});
    ASSERT_EQ(ix::run(line.count(), line.values(), start, elements_of_pe), 0);
  }
  EXPECT_GT(traveller::crossings_of_all, 0);
}

TEST(balancing_of_many_processes, loses_nothing_among_256) {
  for (const char* strategy : {"diffusion", "comm_refine"}) run_on({1, 256}, strategy, 2);
}

TEST(balancing_of_many_processes, loses_nothing_where_messages_overtake_each_other) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) run_on({1, 48, seed, 20}, seed % 2 == 0 ? "greedy" : "rcb", 2);
  run_on({3, 20, 5, 0, true}, "hierarchical", 2);
}

}  // namespace

}  // namespace many_processes_test
