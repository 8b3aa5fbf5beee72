#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/async/executor.h>
#include <imbrex/object/data/port_table.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace port_table_test {

// What comes for ports that serve one channel after another, in bad orders.
namespace {

using namespace imbrex;
using testing::ElementsAre;

constexpr std::uint64_t ada = 11, bob = 12;

/// An end to a chare; says what it was told and has received.
struct fake_end final : port_end {
  explicit fake_end(std::uint64_t to) : port_end("the end", 1, 1, nullptr) { peer_identity = to; }
  bool stays_in_process(scheduler&) const override { return true; }
  void meet(const channel_hello& hello) override {
    if (note_peer(hello.peer)) places.push_back(hello.peer.pe);
  }
  void tell_of_move(scheduler&) override {}
  std::vector<int> received() {
    std::vector<channel_message> come;
    resume(leave(come));
    std::vector<int> all;
    for (const channel_message& m : come) all.push_back(static_cast<int>(m.copied[0]));
    return all;
  }
  std::vector<pe_id> places;
};

class port_table_of_one : public testing::Test {
 protected:
  port_table_of_one() { executor::set_current(&pe_); }
  ~port_table_of_one() override { executor::set_current(nullptr); }

  static channel_message hello(std::uint64_t from, pe_id where, std::uint64_t epoch) {
    channel_message m = channel_message::telling({{0, where, memory_kind::host, epoch, 1}, false});
    m.from = from;
    return m;
  }
  /// The first message of the sender's so-manieth end.
  static channel_message letter(std::uint64_t from, std::uint32_t opening, int word, std::uint64_t sequence = 0) {
    channel_message m;
    m.from = from;
    m.opening = opening;
    m.sequence = sequence;
    m.copied.resize(1);
    m.copied.data()[0] = static_cast<std::byte>(word);
    return m;
  }
  std::vector<int> received_next(std::uint64_t from, std::uint32_t life = 0) {
    fake_end end(from);
    end.life = life;
    ports_.open(port, &end);
    std::vector<int> all = end.received();
    ports_.close(port);
    return all;
  }

  static constexpr int port = 3;
  executor pe_;
  port_table ports_;
};

TEST_F(port_table_of_one, what_a_chare_tells_of_itself_is_told_to_ends_to_it_only) {
  ports_.deliver(port, hello(ada, 7, 5));
  fake_end to_bob(bob);
  ports_.open(port, &to_bob);
  ports_.deliver(port, hello(ada, 8, 6));
  ports_.deliver(port, hello(bob, 1, 2));
  ports_.close(port);
  EXPECT_THAT(to_bob.places, ElementsAre(1));
  fake_end to_ada(ada);
  ports_.open(port, &to_ada);
  EXPECT_THAT(to_ada.places, ElementsAre(8));
}

TEST_F(port_table_of_one, of_what_each_has_told_the_newest_is_kept) {
  ports_.deliver(port, hello(ada, 7, 5));
  ports_.deliver(port, hello(bob, 1, 2));
  ports_.deliver(port, hello(ada, 6, 4));
  fake_end to_ada(ada);
  ports_.open(port, &to_ada);
  EXPECT_THAT(to_ada.places, ElementsAre(7));
  ports_.close(port);
  fake_end to_bob(bob);
  ports_.open(port, &to_bob);
  EXPECT_THAT(to_bob.places, ElementsAre(1));
}

TEST_F(port_table_of_one, messages_of_another_chare_wait_for_its_channel) {
  ports_.deliver(port, letter(ada, 1, 10));
  fake_end to_bob(bob);
  ports_.open(port, &to_bob);
  ports_.deliver(port, letter(ada, 1, 11, 1));
  ports_.deliver(port, letter(bob, 1, 20));
  EXPECT_THAT(to_bob.received(), ElementsAre(20));
  ports_.close(port);
  EXPECT_THAT(received_next(ada), ElementsAre(10, 11));
}

TEST_F(port_table_of_one, messages_of_the_next_channel_wait_though_they_came_first) {
  fake_end first(ada);
  ports_.open(port, &first);
  ports_.deliver(port, letter(ada, 2, 30));
  ports_.deliver(port, letter(ada, 1, 20));
  EXPECT_THAT(first.received(), ElementsAre(20));
  ports_.close(port);
  EXPECT_THAT(received_next(ada), ElementsAre(30));
  EXPECT_THAT(received_next(ada), ElementsAre());
  ports_.deliver(port, letter(ada, 4, 50));
  ports_.deliver(port, letter(ada, 3, 40));
  EXPECT_THAT(received_next(ada), ElementsAre(40));
  EXPECT_THAT(received_next(ada), ElementsAre(50));
}

TEST_F(port_table_of_one, ends_that_send_are_numbered_for_each_port_there) {
  fake_end end(ada);
  end.peer_port = 8;
  EXPECT_EQ(ports_.next_opening(end), 1u);
  EXPECT_EQ(ports_.next_opening(end), 2u);
  end.port = 9;
  EXPECT_EQ(ports_.next_opening(end), 3u) << "from another port to the same";
  end.peer_port = 7;
  EXPECT_EQ(ports_.next_opening(end), 1u);
  fake_end other(bob);
  other.peer_port = 8;
  EXPECT_EQ(ports_.next_opening(other), 1u);
}

TEST_F(port_table_of_one, whoever_takes_another_ones_place_begins_anew) {
  ports_.deliver(port, letter(ada, 1, 10));
  EXPECT_THAT(received_next(ada), ElementsAre(10));
  fake_end of_heir(bob);
  of_heir.life = 1;
  const std::uint32_t first_of_heir = ports_.next_opening(of_heir);
  ports_.deliver(port, letter(ada, first_of_heir + 1, 12));
  ports_.deliver(port, letter(ada, first_of_heir, 11));
  EXPECT_THAT(received_next(ada), ElementsAre(11));
  EXPECT_THAT(received_next(ada), ElementsAre(12));
}

TEST_F(port_table_of_one, one_that_has_taken_a_place_hears_those_who_go_on) {
  ports_.deliver(port, letter(ada, 5, 50));
  EXPECT_THAT(received_next(ada, 1), ElementsAre(50));
  ports_.deliver(port, letter(ada, 6, 60));
  EXPECT_THAT(received_next(ada, 1), ElementsAre(60));
}

TEST_F(port_table_of_one, a_channel_that_came_along_goes_on_with_the_same_chare_only) {
  fake_end before(ada);
  ports_.open(port, &before);
  ports_.deliver(port, letter(ada, 1, 10));
  ports_.deliver(port, letter(ada, 1, 11, 1));
  port_table there;
  there.arrive(ports_.leave());
  fake_end to_bob(bob);
  EXPECT_FALSE(there.open(port, &to_bob));
  EXPECT_THAT(to_bob.received(), ElementsAre());
  there.close(port);
  fake_end after(ada);
  EXPECT_TRUE(there.open(port, &after));
  EXPECT_THAT(after.received(), ElementsAre(10, 11));
  there.deliver(port, letter(ada, 1, 12, 2));
  there.deliver(port, letter(ada, 2, 13, 0));
  EXPECT_THAT(after.received(), ElementsAre(12));
}

TEST_F(port_table_of_one, what_was_received_before_is_known_in_another_process) {
  ports_.deliver(port, letter(ada, 1, 10));
  EXPECT_THAT(received_next(ada), ElementsAre(10));
  port_table there;
  there.arrive(ports_.leave());
  fake_end end(ada);
  there.open(port, &end);
  there.deliver(port, letter(ada, 3, 30));
  there.deliver(port, letter(ada, 2, 20));
  EXPECT_THAT(end.received(), ElementsAre(20));
}

}  // namespace

}  // namespace port_table_test
