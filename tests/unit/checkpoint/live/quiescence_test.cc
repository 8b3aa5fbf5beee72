#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include "unit/checkpoint/live/job_with_checkpoints.h"

namespace quiescence_test {

// Quiescence that a program waits for while checkpoints are made of chares that wait at points.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;

constexpr int num_steps = 20, num_cells = 6;

struct stepping : ix::chare<stepping, ix::index1d> {
  ix::task<> run() {
    while (step_ < num_steps) {
      ++step_;
      co_await ix::checkpoint_point(*this);
    }
  }
  int steps() const { return step_; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & step_;
  }

 private:
  int step_ = 0;
};

struct waits_for_quiescence {
  ix::array_proxy<stepping> cells;
  ix::task<int> start(ix::runtime& rt) {
    cells = rt.create_array<stepping>(ix::index1d(num_cells));
    auto rest = restart(rt);
    co_return co_await rest;
  }
  ix::task<int> restart(ix::runtime& rt) {
    cells.broadcast<&stepping::run>();
    co_await rt.quiescence();
    int all = 0;
    for (int i = 0; i < num_cells; ++i) {
      auto asked = cells[i].call<&stepping::steps>();
      all += co_await std::move(asked);
    }
    co_return all == num_steps* num_cells ? 0 : 1;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & cells;
  }
};

TEST(quiescence, does_not_come_while_a_checkpoint_is_taken) {
  for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{2, 2}, job_shape{3, 2, 5, 30}}) {
    SCOPED_TRACE(to_text(s));
    folder_of_checkpoints at;
    EXPECT_EQ(run_program<waits_for_quiescence>(s, {at.option(), "--imbrex-checkpoint-every=3"}), 0);
    EXPECT_TRUE(at.has_any());
    if (s.ranks > 1) {
      EXPECT_EQ(run_program<waits_for_quiescence>(s, {"--imbrex-checkpoint-memory=2"}), 0);
    }
    EXPECT_EQ(run_program<waits_for_quiescence>(s, {"--imbrex-restart=" + at.path(), at.option()}), 0);
  }
}

}  // namespace

}  // namespace quiescence_test
