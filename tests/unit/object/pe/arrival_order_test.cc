#include "imbrex/pe/remote/arrival_order.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace arrival_order_test {

using namespace imbrex;

namespace {

/// What happened to the messages of a test, by their names.
std::string done;

struct named_arrival : arrival {
  named_arrival(char n, pe_id sender, int p) : name(n) {
    from = sender;
    level = static_cast<std::int8_t>(p);
    act = [](work* w, work_action action) {
      const char its = static_cast<named_arrival*>(static_cast<arrival*>(w))->name;
      done += action == work_action::run ? its : static_cast<char>(its - 'a' + 'A');
    };
  }
  char name;
};

void in_turn(work* w, work_action action) {
  auto* m = static_cast<wire_message*>(w);
  if (action == work_action::run) done += static_cast<char>(m->header.flow);
  wire_message::destroy(m);
}

class arrival_order_test : public testing::Test {
 protected:
  arrival_order_test() {
    done.clear();
    executor::set_current(&pe_);
  }
  ~arrival_order_test() override { executor::set_current(nullptr); }

  /// A plain message comes: performed at once or kept.
  void come(char name, pe_id from = 1, int level = 0) {
    wire_message* m = wire_message::make(0);
    m->header.from = from;
    m->header.flow = static_cast<std::uint64_t>(name);
    m->level = static_cast<std::int8_t>(level);
    if (!order_.hold(m, &in_turn)) in_turn(m, work_action::run);
  }
  named_arrival* expect(char name, pe_id from = 1, int level = 0) {
    named_arrival* a = &arrivals_.emplace_back(name, from, level);
    order_.expect(a);
    return a;
  }
  std::string run() {
    while (work* w = pe_.next()) w->act(w, work_action::run);
    return done;
  }

  executor pe_;
  std::deque<named_arrival> arrivals_;
  arrival_order order_{pe_};
};

TEST_F(arrival_order_test, what_follows_waits) {
  come('x');
  named_arrival* a = expect('a');
  come('b');
  come('c');
  EXPECT_EQ(done, "x");
  order_.complete(a);
  EXPECT_EQ(run(), "xabc");
  EXPECT_FALSE(order_.any());
  come('d');
  EXPECT_EQ(done, "xabcd");
}

TEST_F(arrival_order_test, arrivals_wait_for_each_other) {
  named_arrival* a = expect('a');
  come('b');
  named_arrival* c = expect('c');
  come('d');
  named_arrival* e = expect('e');
  order_.complete(e);
  order_.complete(c);
  EXPECT_EQ(run(), "");
  order_.complete(a);
  EXPECT_EQ(run(), "abcde");
  EXPECT_FALSE(order_.any());
}

TEST_F(arrival_order_test, what_is_released_does_not_wait_again) {
  named_arrival* a = expect('a');
  come('b');
  named_arrival* c = expect('c');
  order_.complete(a);
  EXPECT_EQ(run(), "ab");
  come('d');
  EXPECT_EQ(done, "ab");
  order_.complete(c);
  EXPECT_EQ(run(), "abcd");
}

TEST_F(arrival_order_test, other_senders_and_more_urgent_messages_pass) {
  named_arrival* a = expect('a', 1, 0);
  come('o', 2);
  come('u', 1, -4);
  come('l', 1, 3);
  EXPECT_EQ(done, "ou");
  named_arrival* v = expect('v', 1, -4);
  come('w', 1, -4);
  order_.complete(v);
  EXPECT_EQ(run(), "ouvw");
  order_.complete(a);
  EXPECT_EQ(run(), "ouvwal");
}

TEST_F(arrival_order_test, the_end_discards_what_waits) {
  named_arrival* a = expect('a');
  come('b');
  named_arrival* c = expect('c');
  order_.complete(c);
  order_.discard();
  EXPECT_EQ(done, "C");
  EXPECT_FALSE(order_.any());
  order_.complete(a);  // its last bytes come all the same
  EXPECT_EQ(run(), "CA");
}

TEST_F(arrival_order_test, what_is_given_up_leaves_the_line) {
  named_arrival* a = expect('a');
  come('b');
  order_.give_up(a);
  EXPECT_EQ(done, "A");
  order_.discard();
  EXPECT_FALSE(order_.any());
}

}  // namespace

}  // namespace arrival_order_test
