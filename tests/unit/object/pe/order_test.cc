#include "unit/object/job.h"

namespace order_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

struct listener : chare<listener, index1d> {
  void hear(int n) {
    in_order_ = in_order_ && n == heard_;
    ++heard_;
  }
  int result() const { return in_order_ ? heard_ : -1; }
  bool in_order_ = true;
  int heard_ = 0;
};

struct listener_of_nothing : chare<listener_of_nothing> {
  int nothing() { return 0; }
};

// Sends before, while and after the array comes to be, with waits in between.
task<int> speak(runtime& rt) {
  for (int round = 0; round < 20; ++round) {
    auto a = rt.create_array<listener>(index1d(6));
    for (int n = 0; n < 3; ++n) {
      for (int i = 0; i < 6; ++i) a[i].send<&listener::hear>(n);
    }
    co_await rt.create<listener_of_nothing>().call<&listener_of_nothing::nothing>();
    for (int n = 3; n < 6; ++n) {
      for (int i = 0; i < 6; ++i) a[i].send<&listener::hear>(n);
    }
    co_await rt.quiescence();
    for (int i = 0; i < 6; ++i) {
      const int heard = co_await a[i].call<&listener::result>();
      if (heard != 6) co_return 1;
    }
  }
  co_return 0;
}

TEST(order, messages_of_one_sender_to_one_element_keep_it_while_the_array_comes_to_be) {
  for (const job_shape& s : all_shapes()) {
    if (s.seed != 0) continue;  // random schedules do not keep order
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_job_with(s, &speak), 0);
  }
}

}  // namespace

}  // namespace order_test
