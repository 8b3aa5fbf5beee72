#include "imbrex/comm/flood_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "imbrex/comm/loopback/loopback_transport.h"
#include "unit/async/bare_pe.h"

namespace flood_watch_test {

using namespace imbrex;

namespace {

TEST(flood_watch, says_once_that_messages_pile_up) {
  flood_watch watch("a network");
  testing::internal::CaptureStderr();
  for (std::uint64_t n = 1; n < flood_watch::most + 10; ++n) watch.look(n, 3, 64);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(watch.has_warned());
  EXPECT_THAT(said, testing::HasSubstr("262144 messages to other ranks have not left by a network"));
  EXPECT_THAT(said, testing::HasSubstr("Await replies"));
  EXPECT_EQ(said.find("have not left"), said.rfind("have not left")) << "once is enough";
}

TEST(flood_watch, of_the_loopback_network_sees_what_a_link_holds) {
  imbrex_test::bare_pe pe;
  loopback_options slow;
  slow.max_delay_us = 60'000'000;
  auto network = std::make_shared<loopback_network>(2, slow);
  loopback_transport from(network, 0);
  testing::internal::CaptureStderr();
  for (std::uint64_t i = 0; i < flood_watch::most + 1; ++i) {
    wire_message* const m = wire_message::make(0);
    m->header.to = 1;
    m->header.from = 0;
    from.send(1, m);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("the loopback network"));
  network.reset();
}

TEST(flood_watch, of_an_inbox_sees_what_a_pe_has_not_taken) {
  imbrex_test::bare_pe pe;
  constexpr std::size_t count = std::size_t{1} << 20;
  std::vector<work> all(count);
  for (work& w : all) w.act = [](work*, work_action) {};
  executor::set_current(nullptr);  // as another thread does
  for (work& w : all) pe.queue.post(&w);
  executor::set_current(&pe.queue);
  testing::internal::CaptureStderr();
  pe.run();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("1048576 messages at once"));
}

}  // namespace

}  // namespace flood_watch_test
