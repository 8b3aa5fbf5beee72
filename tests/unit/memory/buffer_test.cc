#include "imbrex/device/buffer.h"

#include <gtest/gtest.h>

#include "imbrex/base/error.h"
#include "imbrex/device/copy.h"
#include "imbrex/device/host/host_device.h"
#include "unit/async/bare_pe.h"

namespace buffer_test {

using namespace imbrex;

namespace {

struct buffers : testing::Test {
  imbrex_test::bare_pe pe;
  host_memory memory;
  host_device device{pe.queue, 0, memory};
};

TEST_F(buffers, know_their_size_kind_and_device) {
  buffer<double> b(device, 100);
  EXPECT_EQ(b.size(), 100U);
  EXPECT_EQ(b.kind(), memory_kind::host);
  EXPECT_EQ(b.on(), &device);
  const buffer_view<const double> v = b;
  EXPECT_EQ(v.bytes(), 800U);
  EXPECT_EQ(v.slice(10, 5).data, b.data() + 10);
}

TEST_F(buffers, give_their_memory_back) {
  {
    buffer<int> a(device, 1000);
    buffer<int> b = std::move(a);
    a = buffer<int>(device, 10);
    EXPECT_GT(memory.used().in_use, 0U);
  }
  EXPECT_EQ(memory.used().in_use, 0U);
}

TEST_F(buffers, copy_in_the_order_of_a_stream) {
  buffer<int> from(device, 4), to(device, 6);
  auto s = device.make_stream(stream_priority::low, "a stream");
  int* f = from.data();
  s->call("set", [f] {
    for (int i = 0; i < 4; ++i) f[i] = i;
  });
  copy<int>(to, from, *s);
  pe.run();
  EXPECT_EQ(to.data()[3], 3);
  EXPECT_THROW(copy<int>(from, to, *s), usage_error);
}

}  // namespace

}  // namespace buffer_test
