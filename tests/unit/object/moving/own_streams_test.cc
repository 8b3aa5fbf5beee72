#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <memory>
#include <vector>

#include "unit/object/job.h"

namespace own_streams_test {

/// Streams that chares make themselves go to another PE with them.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;

/// Has two streams that it made, one of them of a set, beside those that the runtime gives it. Every operation of a
/// host's stream runs on the PE whose stream it is.
struct streamer : ix::chare<streamer, ix::index1d> {
  streamer()
      : own_(on_host().make_stream(ix::stream_priority::low, "own")),
        set_(std::make_unique<ix::stream_set>(on_host(), "own set")) {}

  ix::task<> run(int rounds, std::uint64_t seed) {
    ix::random_sequence random(seed + static_cast<std::uint64_t>(index().x));
    int elsewhere = 0, moves = 0;
    for (int k = 0; k < rounds; ++k) {
      const int before = pe();
      int own = -1, of_set = -1, given = -1;
      own_->call("own", [&own] { own = ix::scheduler::current().id(); });
      set_->pack.after(*own_);
      set_->pack.call("of set", [&of_set] { of_set = ix::scheduler::current().id(); });
      streams().compute.after(set_->pack);
      streams().compute.call("given", [&given] { given = ix::scheduler::current().id(); });
      // Wished for while all of them are busy: it goes when they are not, or later.
      if (random.below(2) == 0) migrate_to(static_cast<int>(random.below(static_cast<std::uint64_t>(num_pes()))));
      co_await streams().compute.done();
      // All have run by now, on the PE where they were enqueued.
      elsewhere += own != before || of_set != before || given != before;
      co_await barrier();
      moves += pe() != before;
    }
    moves_ = moves;
    contribute(elsewhere, ix::sum);
  }
  int moves() const { return moves_; }

 private:
  std::unique_ptr<ix::stream> own_;
  std::unique_ptr<ix::stream_set> set_;
  int moves_ = 0;
};

ix::task<int> start(ix::runtime& rt, std::uint64_t seed) {
  constexpr int elements = 12;
  const auto all = rt.create_array<streamer>(ix::index1d(elements));
  all.broadcast<&streamer::run>(40, seed);
  const int elsewhere = co_await all.reduction<int>();
  EXPECT_EQ(elsewhere, 0) << "an operation ran on a PE where the chare was not";
  int moves = 0;
  for (int i = 0; i < elements; ++i) moves += co_await all[i].call<&streamer::moves>();
  if (rt.num_pes() > 1) {
    EXPECT_GT(moves, elements);
  }
  co_return 0;
}

TEST(own_streams, go_along) {
  for (const job_shape& s :
       {job_shape{1, 1}, {2, 1}, {4, 1}, {3, 1, 5}, {6, 1, 8}, {3, 1, 0, 0, true}, {9, 1, 11, 0, true}}) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(imbrex_test::run_job_with(s, start, s.seed), 0);
  }
}

}  // namespace

}  // namespace own_streams_test
