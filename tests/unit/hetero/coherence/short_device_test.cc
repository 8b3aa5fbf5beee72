#include <gtest/gtest.h>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace short_device_test {

// A device with less memory than it said, because others use it, too.
using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::uint64_t mega = 1 << 20;

/// Host memory as a device's, of which there are only `budget` bytes.
class short_device final : public device {
 public:
  short_device(executor& pe, host_memory& m, std::uint64_t budget) : in_(pe, 0, m), budget_(budget) {}
  device_kind kind() const override { return device_kind::host; }
  int number() const override { return 0; }
  std::string name() const override { return "short"; }
  memory_info memory() const override { return in_.memory(); }
  memory_kind allocates() const override { return memory_kind::host; }
  void* allocate(std::size_t bytes, memory_kind k) override {
    if (used_ + bytes > budget_) throw out_of_memory("the device is full");
    used_ += bytes;
    return in_.allocate(bytes, k);
  }
  void free(void* memory, std::size_t bytes, memory_kind k) noexcept override {
    used_ -= bytes;
    in_.free(memory, bytes, k);
  }
  memory_usage used(memory_kind k) const override { return in_.used(k); }
  void read_now(void* to, const void* from, std::size_t bytes, const event& e) override {
    in_.read_now(to, from, bytes, e);
  }
  std::unique_ptr<stream> make_stream(stream_priority p, std::string label) override {
    return in_.make_stream(p, std::move(label));
  }

 private:
  host_device in_;
  const std::uint64_t budget_;
  std::uint64_t used_ = 0;
};

struct short_of_memory {
  explicit short_of_memory(std::uint64_t there) : dev(pe.queue, memory, there) {
    hetero_options o;
    o.device_bytes = 16 * mega;  // what is believed to be there
    domain = std::make_unique<hetero_domain>(pe.queue, host, std::vector<device*>{&dev}, o);
  }
  hetero_object<double> make_filled(double value) {
    hetero_object<double> x(*domain, mega / sizeof(double));
    submit(*domain, {}, [](std::span<double> v, double to) { std::fill(v.begin(), v.end(), to); }, write(x), value);
    return x;
  }
  hetero_task add(const hetero_object<double>& x) {
    return submit(*domain, {.on = device_kind::host, .number = 0}, add_on_device(1), x);
  }

  bare_pe pe;
  host_memory memory;
  host_device host{pe.queue, 0, memory};
  short_device dev;
  std::unique_ptr<hetero_domain> domain;
};

TEST(short_device, makes_room_for_what_it_cannot_allocate) {
  short_of_memory on(4 * mega);
  std::vector<hetero_object<double>> all;
  std::vector<hetero_task> tasks;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 12; ++i) {
      if (round == 0) all.push_back(on.make_filled(i));
      tasks.push_back(on.add(all[static_cast<std::size_t>(i)]));
      if (round == 0) on.pe.run();
    }
  }
  on.pe.run();
  for (const hetero_task& t : tasks) EXPECT_EQ(t.state(), task_state::done);
  EXPECT_GT(on.domain->counts().evictions, 12);
  for (int i = 0; i < 12; ++i) {
    double seen = 0;
    submit(*on.domain, {}, [&seen](std::span<const double> v) { seen = v.back(); }, all[static_cast<std::size_t>(i)]);
    on.pe.run();
    EXPECT_EQ(seen, i + 2);
  }
}

TEST(short_device, that_could_never_hold_a_task_says_so) {
  short_of_memory on(mega / 2);
  const hetero_object<double> x = on.make_filled(1);
  const hetero_task t = on.add(x);
  on.pe.run();
  ASSERT_EQ(t.state(), task_state::failed);
  EXPECT_THROW(std::rethrow_exception(t.node()->failure()), out_of_memory);
}

}  // namespace

}  // namespace short_device_test
