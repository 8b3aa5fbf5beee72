#include "imbrex/device/rounds/round_nodes.h"

#include <gmock/gmock.h>

#include "imbrex/base/error.h"
#include "unit/fake_gpu/fake_gpu_fixture.h"

namespace round_nodes_test {

namespace {

using namespace imbrex;
using imbrex_test::fake_gpus;

/// Streams of two GPUs whose operations are kept.
struct round_nodes_of : fake_gpus {
  void SetUp() override {
    open();
    a = &make(0, "a");
    b = &make(1, "b");
    x.resize(64);
    for (stream* const s : {a, b}) s->record_rounds(rounds);
  }
  void TearDown() override {
    for (stream* const s : {a, b}) s->stop_recording();
    rounds->end();
    fake_gpus::TearDown();
  }
  void fill(stream& s, int at) { s.fill(x.data() + at, 1, 1); }
  void end_round() {
    for (stream* const s : {a, b}) s->end_round();
  }
  std::vector<std::uint32_t> after(const round_nodes& n, std::uint32_t i) { return n.all()[i].after; }

  std::shared_ptr<recorded_rounds> rounds = std::make_shared<recorded_rounds>();
  stream *a = nullptr, *b = nullptr;
  std::vector<char> x;
};

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST_F(round_nodes_of, come_after_those_of_their_stream_and_what_it_waits_for) {
  event of_b;
  for (int r = 0; r < 4; ++r) {  // each waits for the other's round before, and b for a's of the same round, too
    const event before_a = a->record();
    a->wait(of_b);
    fill(*a, 0);
    b->wait(before_a);
    b->after(*a);
    fill(*b, 1);
    of_b = b->record();
    end_round();
  }
  EXPECT_EQ(rounds->why_not_repeated(), "");
  const std::vector<std::size_t> order{2, 3, 2};
  const round_nodes n(*rounds, order);  // a's are 0, 1, 2; b's 3, 4, 5
  ASSERT_EQ(n.all().size(), 6u);
  EXPECT_THAT(after(n, 0), IsEmpty());
  EXPECT_THAT(after(n, 3), ElementsAre(0));
  EXPECT_THAT(after(n, 1), UnorderedElementsAre(0, 3));
  EXPECT_THAT(after(n, 4), UnorderedElementsAre(3, 0, 1));
  EXPECT_THAT(after(n, 2), UnorderedElementsAre(1, 4));
  EXPECT_EQ(n.all()[5].depth, 5u);
  EXPECT_THAT(n.sorted(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST_F(round_nodes_of, wait_also_for_what_was_awaited_at_the_end_of_a_round) {
  for (int r = 0; r < 4; ++r) {
    fill(*a, 0);
    fill(*b, 1);
    a->after(*b);
    end_round();
  }
  const std::vector<std::size_t> order{2, 3};
  const round_nodes n(*rounds, order);
  EXPECT_THAT(after(n, 1), UnorderedElementsAre(0, 2));
  EXPECT_THAT(after(n, 3), ElementsAre(2));
}

TEST_F(round_nodes_of, rounds_that_differ_are_told_apart) {
  for (int r = 0; r < 4; ++r) {
    fill(*a, r < 3 ? 0 : 2);
    fill(*b, 1);
    end_round();
  }
  EXPECT_THAT(rounds->why_not_repeated(), testing::HasSubstr("rounds 1 and 3 differ: a fill of other memory"));
}

TEST_F(round_nodes_of, each_other_round_may_differ) {
  for (int r = 0; r < 4; ++r) {
    fill(*a, r % 2);
    end_round();
  }
  EXPECT_EQ(rounds->why_not_repeated(), "");
}

TEST_F(round_nodes_of, waits_for_streams_that_are_not_recorded_are_for_the_first_rounds_only) {
  stream& other = make(0, "other");
  buffer<char> of_other(device(0), 64);
  for (int r = 0; r < 4; ++r) {
    other.fill(of_other.data(), 0, 1);
    a->after(other);
    fill(*a, 0);
    end_round();
  }
  EXPECT_THAT(rounds->why_not_repeated(), testing::HasSubstr("waits for streams that are not of the chares"));
}

TEST_F(round_nodes_of, streams_beside_do_not_wait_for_them) {
  stream& other = make(0, "other");
  fill(*a, 0);
  const event recorded = a->record();
  try {
    other.wait(recorded);
    FAIL() << "it waits for what is not enqueued";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("other was to wait for a round that is recorded"));
  }
  a->stop_recording();
  rounds->end();
  EXPECT_NO_THROW(other.wait(recorded));
}

}  // namespace

}  // namespace round_nodes_test
