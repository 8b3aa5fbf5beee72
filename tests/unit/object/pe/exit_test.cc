#include <gtest/gtest.h>

#include "imbrex/base/error.h"
#include "imbrex/pe/scheduler.h"

namespace exit_test {

using namespace imbrex;

namespace {

/// Reaches rank 2 and nobody else.
struct broken_transport final : transport {
  rank_id rank() const override { return 0; }
  int num_ranks() const override { return 3; }
  std::string name() const override { return "broken"; }
  void start(const delivery&) override {}
  void send(rank_id to, wire_message* m) override {
    wire_message::destroy(m);
    if (to != 2) throw comm_error("rank 1 cannot be reached");
    ++num_sent;
  }
  bool poll() override { return false; }
  bool needs_polling() const override { return true; }
  void send_data(rank_id, pe_id, std::uint64_t, const data_view&, transfer*) override {}
  void recv_data(rank_id, std::uint64_t, const data_view&, transfer*) override {}
  job_end stop(const job_end& mine) override { return mine; }
  std::vector<std::vector<std::byte>> all_gather(const std::vector<std::byte>& mine) override { return {mine}; }
  [[noreturn]] void abort(int code) override { std::_Exit(code); }

  int num_sent = 0;
};

TEST(exit_of_a_job, tells_all_that_can_be_reached) {
  handler_info::seal();
  broken_transport network;
  rank_context rank;
  rank.num_ranks = 3;
  rank.transport = &network;
  scheduler pe(rank, 0, nullptr);
  rank.pes.push_back(&pe);
  pe.bind_to_this_thread();
  testing::internal::CaptureStderr();
  pe.fail_job("the first failure", 70);
  pe.run();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("the first failure"), std::string::npos);
  EXPECT_EQ(rank.end.get(), (job_end{true, 70}));
  EXPECT_EQ(network.num_sent, 1);
  pe.discard_queued();
  pe.destroy_objects();
  pe.destroy_collections();
  pe.destroy_tasks();
  pe.unbind_from_this_thread();
}

}  // namespace

}  // namespace exit_test
