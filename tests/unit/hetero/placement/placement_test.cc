// Where the default policy has tasks run, with several devices in one domain.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "unit/hetero/hetero_fixture.h"

namespace placement_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t elements = 100;
constexpr std::uint64_t object_bytes = elements * sizeof(double);

/// Tasks that read one object, which the host has written, and use one more each; it is noted on which device.
class readers_of_one {
 public:
  explicit readers_of_one(int num_devices, std::uint64_t num_objects_that_fit = 1000)
      : on_(num_devices, num_objects_that_fit * object_bytes), shared_(object()) {
    submit(*on_.domain, {}, [](std::span<double> x) { std::fill(x.begin(), x.end(), 1.0); }, write(shared_));
    run();
  }
  hetero_object<double> object() { return on_.object<double>(elements); }
  template <class C>
  void use(const C& c) {
    const auto noted = [this](stream& s, std::span<const double> a, std::span<double> x) {
      where_.push_back(s.on().number());
      s.call("noted", [a, x] { std::copy(a.begin(), a.end(), x.begin()); });
    };
    tasks_.push_back(submit(*on_.domain, {}, noted, shared_, c));
  }
  /// Objects whose only copies are on that device.
  std::vector<hetero_object<double>> full_of_others(int device, int num) {
    std::vector<hetero_object<double>> others;
    for (int i = 0; i < num; ++i) {
      others.push_back(object());
      const auto made = [](stream& s, std::span<double> x) { s.call("made", [x] { x[0] = 1; }); };
      tasks_.push_back(submit(*on_.domain, {.on = device_kind::host, .number = device}, made, write(others.back())));
    }
    run();
    return others;
  }
  void run() {
    on_.run(await_all(std::exchange(tasks_, {})));
    on_.pe.run();
  }
  auto num_on(int device) const { return std::count(where_.begin(), where_.end(), device); }
  const hetero_counts& counts() const { return on_.counts(); }

 private:
  static task<> await_all(std::vector<hetero_task> tasks) {
    for (const hetero_task& t : tasks) co_await t;
  }

  hetero_pe on_;
  hetero_object<double> shared_;
  std::vector<int> where_;
  std::vector<hetero_task> tasks_;
};

TEST(placement, tasks_that_read_the_same_use_all_devices) {
  readers_of_one all(3);
  for (int i = 0; i < 60; ++i) all.use(write(all.object()));
  all.run();
  for (int d = 0; d < 3; ++d) EXPECT_GE(all.num_on(d), 10) << "device " << d;
  EXPECT_LE(all.counts().bytes_to_devices + all.counts().bytes_between, 3 * object_bytes);  // once to each
}

TEST(placement, a_chain_stays_where_it_is) {
  readers_of_one all(2);
  const auto c = all.object();
  all.use(write(c));
  for (int i = 1; i < 200; ++i) all.use(read_write(c));
  all.run();
  EXPECT_EQ(std::max(all.num_on(0), all.num_on(1)), 200);
  EXPECT_EQ(all.counts().bytes_between, 0U);
}

TEST(placement, several_chains_are_dealt_over_the_devices) {
  readers_of_one all(2);
  for (int i = 0; i < 40; ++i) {
    const auto c = all.object();
    all.use(write(c));
    for (int k = 0; k < 4; ++k) all.use(read_write(c));
  }
  all.run();
  EXPECT_GE(all.num_on(0), 50);
  EXPECT_GE(all.num_on(1), 50);
}

TEST(placement, nothing_goes_to_make_room_on_a_device_that_would_help) {
  readers_of_one all(2, 40);
  const auto full = all.full_of_others(1, 40);
  std::vector<hetero_object<double>> more;
  for (int i = 0; i < 30; ++i) {
    more.push_back(all.object());
    all.use(write(more.back()));
  }
  all.run();
  EXPECT_EQ(all.num_on(0), 30);
  EXPECT_EQ(all.counts().bytes_to_host, 0U);
}

}  // namespace

}  // namespace placement_test
