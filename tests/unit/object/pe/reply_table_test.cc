#include "imbrex/pe/reply.h"

#include <gtest/gtest.h>

#include <memory>

namespace reply_table_test {

// Answers for those who move while they wait, and come back while the answer follows them.
namespace {

using imbrex::reply_table;
using imbrex::reply_to;
using imbrex::reply_waiter;

constexpr imbrex::pe_id here = 3;

struct route_to_nowhere final : imbrex::work_route {
  void carry(imbrex::work*, bool) const override {}
};

/// Who has come here with its element, while an answer is performed that has followed it.
struct arrived final : reply_table::arrivals {
  explicit arrived(reply_waiter& w) : who(w) {}
  reply_waiter* find(const reply_to& r) override { return who.address == r ? &who : nullptr; }
  reply_waiter& who;
};

TEST(reply_table, leaves_a_place_alone_whose_answer_is_following) {
  reply_table table;
  reply_waiter traveller, second, third;
  traveller.address = table.add(here, &traveller);
  table.send_after(traveller.address, std::make_shared<route_to_nowhere>());
  EXPECT_NE(table.take(traveller.address, here).route, nullptr);  // the answer has come, and goes after it
  second.address = table.add(here, &second);                      // in the same place
  table.came_back(traveller);
  third.address = table.add(here, &third);
  EXPECT_NE(second.address.slot, third.address.slot);
  table.send_after(traveller.address, std::make_shared<route_to_nowhere>());  // it leaves once more, and returns
  table.came_back(traveller);

  arrived with_element(traveller);
  table.look_among(&with_element);
  EXPECT_EQ(table.take(traveller.address, here).waiting, &traveller);
  table.look_among(nullptr);
  EXPECT_EQ(table.take(second.address, here).waiting, &second);
  EXPECT_EQ(table.take(third.address, here).waiting, &third);
  EXPECT_EQ(table.take(third.address, here).waiting, nullptr);
}

TEST(reply_table, finds_who_came_back_before_the_answer) {
  reply_table table;
  reply_waiter traveller;
  traveller.address = table.add(here, &traveller);
  table.send_after(traveller.address, std::make_shared<route_to_nowhere>());
  table.came_back(traveller);
  const reply_table::receiver to = table.take(traveller.address, here);
  EXPECT_EQ(to.waiting, &traveller);
  EXPECT_EQ(to.route, nullptr);
}

}  // namespace

}  // namespace reply_table_test
