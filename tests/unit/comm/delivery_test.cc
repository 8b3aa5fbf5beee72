#include <gtest/gtest.h>

#include <vector>

#include "imbrex/comm/message.h"
#include "imbrex/comm/transport.h"
#include "unit/async/bare_pe.h"

namespace delivery_test {

using namespace imbrex;

namespace {

std::vector<std::uint64_t> arrived;

wire_message* numbered(std::uint64_t number) {
  wire_message* m = wire_message::make(0);
  m->header.to = 0;
  m->header.flow = number;
  return m;
}

// Any PE thread may hand messages over. After a large batch the inbox is not looked at for a while; what lies there is
// still older than what the PE's own thread hands over.
TEST(delivery, keeps_the_order_whichever_threads_hand_over) {
  imbrex_test::bare_pe pe;
  arrived.clear();
  const delivery to{.first_pe = 0, .pes = {&pe.queue}, .act = [](work* w, work_action) {
                      auto* m = static_cast<wire_message*>(w);
                      arrived.push_back(m->header.flow);
                      wire_message::destroy(m);
                    }};
  const auto from_elsewhere = [&](std::uint64_t first, std::uint64_t last) {
    executor::set_current(nullptr);  // what another thread would do, without the time that starting one takes
    for (std::uint64_t n = first; n <= last; ++n) EXPECT_TRUE(to.post(numbered(n)));
    executor::set_current(&pe.queue);
  };
  from_elsewhere(0, 19);
  pe.queue.collect();
  from_elsewhere(20, 20);
  EXPECT_TRUE(to.post(numbered(21)));
  pe.run();
  ASSERT_EQ(arrived.size(), 22);
  for (std::uint64_t n = 0; n < arrived.size(); ++n) EXPECT_EQ(arrived[n], n);
}

}  // namespace

}  // namespace delivery_test
