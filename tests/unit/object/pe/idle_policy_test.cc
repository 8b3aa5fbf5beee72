#include "imbrex/pe/idle_policy.h"

#include <gtest/gtest.h>

#include "imbrex/pe/scheduler.h"

namespace idle_policy_test {

using namespace imbrex;

namespace {

/// Ends the loop when there is nothing to do for the third time; meanwhile it has work come from nowhere.
struct counting_policy final : idle_policy {
  explicit counting_policy(int& n) : num_waits(n) {}
  void wait(scheduler& pe) override {
    if (++num_waits == 3) return pe.stop();
    pe.post(&piece);
  }
  struct counted_work : work {
    int num_runs = 0;
  };
  counted_work piece;
  int& num_waits;
};

TEST(idle_policy, decides_what_a_pe_does_with_nothing_to_do) {
  rank_context rank;
  scheduler pe(rank, 0, nullptr);
  rank.pes.push_back(&pe);
  pe.bind_to_this_thread();
  int num_waits = 0;
  auto policy = std::make_unique<counting_policy>(num_waits);
  counting_policy::counted_work& piece = policy->piece;
  piece.act = [](work* w, work_action) { ++static_cast<counting_policy::counted_work*>(w)->num_runs; };
  EXPECT_EQ(pe.step(), pe_step::nothing);
  pe.post(&piece);
  EXPECT_EQ(pe.step(), pe_step::work);
  EXPECT_EQ(pe.step(), pe_step::nothing);
  pe.wait_by(std::move(policy));
  pe.run();
  EXPECT_EQ(num_waits, 3);
  EXPECT_EQ(piece.num_runs, 3);
  pe.discard_queued();
  pe.destroy_objects();
  pe.destroy_collections();
  pe.destroy_tasks();
  pe.unbind_from_this_thread();
}

}  // namespace

}  // namespace idle_policy_test
