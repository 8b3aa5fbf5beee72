// Calls of other libraries in queues of OpenCL.
#include <imbrex/interop.h>

#include <numeric>

#include "imbrex/base/error.h"
#include "imbrex/device/host/host_device.h"
#include "imbrex/device/opencl/opencl_stream.h"
#include "opencl_fixture.h"

namespace opencl_native_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

struct opencl_native : testing::Test {
  void SetUp() override {
    SKIP_WITHOUT_OPENCL();
    pe = std::make_unique<opencl_pe>();
  }
  std::unique_ptr<opencl_pe> pe;
};

void set(cl_command_queue queue, int* at, int value, std::size_t count) {
  ASSERT_EQ(clEnqueueSVMMemFill(queue, at, &value, sizeof value, count * sizeof value, 0, nullptr, nullptr),
            CL_SUCCESS);
}

TEST_F(opencl_native, calls_run_in_order_and_are_awaited) {
  constexpr std::size_t n = 100'000;
  auto s = pe->make();
  buffer<int> data(pe->on(), n), host(pe->on(), n, memory_kind::pinned);
  int calls = 0;
  s->fill(data.data(), 0, n * sizeof(int));
  enqueue_native(*s, "fill", [&](cl_command_queue q) {
    ++calls;
    set(q, data.data(), 7, n);
    set(q, data.data(), 8, n / 2);
  });
  EXPECT_EQ(calls, 1) << "at once";
  s->copy(host.data(), data.data(), n * sizeof(int));
  pe->finish(*s);
  EXPECT_EQ(host.data()[0], 8);
  EXPECT_EQ(host.data()[n - 1], 7);
}

TEST_F(opencl_native, calls_wait_with_a_stream_that_stops) {
  auto s = pe->make();
  constexpr std::size_t many = 30'000'000;  // their filling takes a while
  buffer<int> data(pe->on(), many), host(pe->on(), 10, memory_kind::pinned);
  std::string order;
  s->fill(data.data(), 0, many * sizeof(int));
  s->call("the function", [&] { order += 'f'; });
  enqueue_native(*s, "fill", [&order, at = data.data()](cl_command_queue q) {
    order += 'n';
    set(q, at, 3, 10);
  });
  s->copy(host.data(), data.data(), 10 * sizeof(int));
  EXPECT_EQ(order, "");
  pe->finish(*s);
  EXPECT_EQ(order, "fn");
  EXPECT_EQ(host.data()[9], 3);
}

TEST_F(opencl_native, exceptions_pass_and_what_was_enqueued_is_kept) {
  auto s = pe->make();
  buffer<int> data(pe->on(), 10), host(pe->on(), 10, memory_kind::pinned);
  EXPECT_THROW(enqueue_native(*s, "half",
                              [&](cl_command_queue q) {
                                set(q, data.data(), 4, 10);
                                throw std::domain_error("the matrix is singular");
                              }),
               std::domain_error);
  s->copy(host.data(), data.data(), 10 * sizeof(int));
  pe->finish(*s);
  EXPECT_EQ(host.data()[9], 4);
}

TEST_F(opencl_native, other_devices_are_refused_in_words) {
  host_memory memory;
  host_device host(pe->pe.queue, 0, memory);
  auto s = host.make_stream(stream_priority::low, "the stream of a test");
  try {
    enqueue_native(*s, "fill", [](cl_command_queue) {});
    FAIL() << "nothing was thrown";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("'fill'"));
    EXPECT_THAT(e.what(), testing::HasSubstr("the stream of a test"));
  }
}

TEST_F(opencl_native, memory_of_others_is_the_hosts) {
  std::vector<int> mine(1000);
  const foreign_memory<int> all(pe->on(), mine.data(), mine.size());
  EXPECT_EQ(all.kind(), memory_kind::host);
  EXPECT_FALSE(pe->on().is_staged(mine.data()));
}

}  // namespace

}  // namespace opencl_native_test
