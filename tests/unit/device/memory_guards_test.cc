#include "imbrex/device/pool/memory_guards.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <utility>

#include "imbrex/async/executor.h"
#include "imbrex/base/memory/sanitizer.h"
#include "imbrex/device/buffer.h"
#include "imbrex/device/host/host_device.h"

namespace memory_guards_test {

namespace {

using namespace imbrex;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// The host as a device whose memory is guarded; what its PE is told of.
struct guarded_host : testing::Test {
  guarded_host() {
    host.guard_memory_by(guards);
    pe.on_failure = [](executor&, const std::string& report) { told = report; };
    executor::set_current(&pe);
    told.clear();
  }
  ~guarded_host() override { executor::set_current(nullptr); }

  static inline std::string told;
  executor pe;
  host_memory memory;
  memory_guards guards;
  host_device host{pe, 0, memory};
};

TEST_F(guarded_host, tells_nothing_of_what_stays_inside) {
  for (const std::size_t n : {0, 1, 7, 64, 1000, 500'000}) {
    const buffer<double> b(host, n);
    for (std::size_t i = 0; i < n; ++i) b.data()[i] = 0;
  }
  EXPECT_THAT(told, IsEmpty());
  EXPECT_FALSE(guards.found_damage());
  EXPECT_EQ(memory.used().in_use, 0u);
}

TEST_F(guarded_host, tells_of_an_element_too_many) {
  for (const std::size_t n : {1, 7, 64, 1000, 500'000}) {
    told.clear();
    {
      const buffer<double> b(host, n);
      b.data()[n] = 1.5;
    }
    EXPECT_THAT(told, AllOf(HasSubstr(std::to_string(8 * n) + " bytes of host memory on host"),
                            HasSubstr("beyond their end"), HasSubstr("from byte " + std::to_string(8 * n) + " on")));
  }
  EXPECT_TRUE(guards.found_damage());
}

TEST_F(guarded_host, tells_of_a_byte) {
  {
    const buffer<char> b(host, 5);
    b.data()[5] = 'x';
  }
  EXPECT_THAT(told, AllOf(HasSubstr("5 bytes of host memory"), HasSubstr("1 byte changed from byte 5 on")));
}

TEST_F(guarded_host, tells_of_a_negative_index) {
  {
    const buffer<int> b(host, 10);
    b.data()[-1] = 3;
  }
  EXPECT_THAT(told, AllOf(HasSubstr("in front of their beginning"), HasSubstr("from 4 bytes before it on")));
}

TEST_F(guarded_host, new_memory_holds_no_numbers) {
  double* last = nullptr;
  for (int k = 0; k < 2; ++k) {
    const buffer<double> b(host, 100);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_TRUE(std::isnan(b.data()[i]));
    for (std::size_t i = 0; i < 100; ++i) b.data()[i] = 1;
    last = b.data();
  }
  if (!is_watched_by_address_sanitizer()) {
    EXPECT_TRUE(std::isnan(last[99])) << "nor what is freed, which the pool keeps";
  }
}

TEST_F(guarded_host, knows_what_was_freed_on_another_pes_device) {
  executor other;
  host_device there(other, 1, memory);
  there.guard_memory_by(guards);
  void* const m = host.allocate(80, memory_kind::host);
  there.free(m, 80, memory_kind::host);
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(guarded_host, without_a_pe_it_is_remembered) {
  executor::set_current(nullptr);
  {
    const buffer<char> b(host, 5);
    b.data()[5] = 'x';
  }
  EXPECT_THAT(told, IsEmpty());
  EXPECT_TRUE(guards.found_damage());
}

}  // namespace

}  // namespace memory_guards_test
