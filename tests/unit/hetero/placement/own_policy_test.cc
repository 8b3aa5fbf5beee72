#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <atomic>

#include "imbrex/device/host/host_device.h"
#include "unit/object/job.h"

namespace own_policy_test {

// Policies of the program's own, and objects of domains of its own.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using object = ix::hetero_object<double>;

std::atomic<int> num_popped{0};

/// Gives tasks in the order opposite to that of submission, on the host.
class last_first final : public ix::placement_policy {
 public:
  void push(ix::task_node& t) override { waiting_.push_back(&t); }
  choice pop(const ix::placement_view& view) override {
    if (waiting_.empty() || !view.has_room(*view.places()[0])) return {};
    ix::task_node* const t = waiting_.back();
    waiting_.pop_back();
    ++num_popped;
    return {t, view.places()[0].get()};
  }

 private:
  std::vector<ix::task_node*> waiting_;
};

std::unique_ptr<ix::placement_policy> make_last_first() { return std::make_unique<last_first>(); }

ix::task<int> in_opposite_order(ix::runtime&) {
  std::vector<int> order;
  std::vector<ix::hetero_task> all;
  for (int i = 0; i < 5; ++i) all.push_back(ix::submit({}, [&order, i] { order.push_back(i); }));
  for (const ix::hetero_task& t : all) co_await t;
  EXPECT_THAT(order, testing::ElementsAre(4, 3, 2, 1, 0));
  co_return 0;
}

TEST(own_policy, is_chosen_by_its_name) {
  ix::add_placement_policy("last_first", &make_last_first);
  EXPECT_THROW(ix::add_placement_policy("last_first", &make_last_first), ix::usage_error);
  EXPECT_THROW(ix::add_placement_policy("locality", &make_last_first), ix::usage_error);
  num_popped = 0;
  command_line line({1, 1}, {"--imbrex-task-policy=last_first"});
  EXPECT_EQ(ix::run(line.count(), line.values(), &in_opposite_order), 0);
  EXPECT_EQ(num_popped, 5);
}

TEST(own_policy, that_is_not_there_is_refused_with_the_names_of_all) {
  try {
    ix::make_placement_policy("first_last");
    FAIL() << "nothing was thrown";
  } catch (const ix::config_error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("'first_last'"), testing::HasSubstr("shortest_finish")));
  }
}

struct taker : ix::chare<taker, ix::index1d> {
  ix::task<double> sum(object x) {
    auto access = x.host(ix::access_mode::read);
    const auto view = co_await access;
    double s = 0;
    for (const double v : view) s += v;
    co_return s;
  }
};

/// An object of a domain with a policy of its own goes to every PE.
ix::task<int> objects_of_an_own_domain(ix::runtime& rt) {
  auto takers = rt.create_array<taker>(ix::index1d(rt.num_pes()));
  {
    ix::executor& pe = *ix::executor::current();
    ix::host_memory memory;
    ix::host_device host(pe, 0, memory);
    ix::hetero_domain own(pe, host, {}, {}, make_last_first());
    for (const std::size_t size : {std::size_t{10}, std::size_t{100'000}}) {
      object x(own, size);
      ix::submit(own, {}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 2.0); }, write(x));
      for (int i = 0; i < rt.num_pes(); ++i) {
        const double sum = co_await takers[i].call<&taker::sum>(x);
        EXPECT_EQ(sum, 2.0 * static_cast<double>(size));
      }
    }
    co_await rt.quiescence();
  }
  co_return 0;
}

TEST(own_domain, objects_of_it_are_sent) {
  for (const job_shape s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}, job_shape{2, 2, 3}}) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_job_with(s, objects_of_an_own_domain), 0);
  }
}

}  // namespace

}  // namespace own_policy_test
