// What a device waits for that takes data from another one.
#include <gtest/gtest.h>

#include "unit/hetero/graph/stepped_device.h"
#include "unit/hetero/hetero_fixture.h"

namespace peers_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

TEST(peers, do_not_wait_for_what_the_other_device_was_given_later) {
  bare_pe pe;
  host_memory memory;
  std::vector<stepped_stream*> streams;
  stepped_device host{0, memory, streams}, first{0, memory, streams}, second{1, memory, streams};
  hetero_options o;
  o.device_bytes = 1 << 20;
  o.compute_lanes = 1;
  hetero_domain domain(pe.queue, host, {&first, &second}, o);
  hetero_object<double> x(domain, 10), y(domain, 10), z(domain, 10);
  std::string order;
  const auto on = [](int number) { return task_options{.on = device_kind::host, .number = number}; };
  const auto note = [&order](char what) {
    return [&order, what](stream& s, std::span<double>) { s.call("note", [&order, what] { order += what; }); };
  };
  submit(domain, on(0), note('a'), write(x));
  submit(domain, on(0), note('b'), write(y));
  const auto reads = [&order](stream& s, std::span<const double>, std::span<double>) {
    s.call("note", [&order] { order += 'c'; });
  };
  submit(domain, on(1), reads, x, write(z));
  pe.run();
  // Only 'a' happens in the first device's stream for kernels; all else that can.
  const auto computes_first = [&](const stepped_stream* s) {
    return &s->on() == &first && s->urgency() == stream_priority::low;
  };
  for (bool any = true; any;) {
    any = false;
    for (stepped_stream* s : streams) {
      any |= s->pass_events();
      if (!s->can_step() || (computes_first(s) && !order.empty())) continue;
      s->step();
      any = true;
    }
    pe.run();
  }
  EXPECT_EQ(order, "ac");
}

}  // namespace

}  // namespace peers_test
