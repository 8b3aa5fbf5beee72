#include "result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "imbrex/base/error.h"

namespace result_test {

namespace {

using dgemm::variant;

TEST(variants, are_read_in_order_and_once) {
  EXPECT_THAT(dgemm::parse_variants("queues,naive,queues"), testing::ElementsAre(variant::naive, variant::queues));
  EXPECT_THROW(dgemm::parse_variants("naive,,queues"), imbrex::usage_error);
  EXPECT_THROW(dgemm::parse_variants(""), imbrex::usage_error);
}

TEST(variants, each_switches_one_thing_on) {
  const auto how = [](variant v) {
    const imbrex::hetero_options o = dgemm::options_of(v, 5);
    return int{o.pinned_host_copies} + int{o.pooled_memory} + int{o.transfer_lanes} + int{o.compute_lanes == 5};
  };
  EXPECT_EQ(how(variant::tasks), 0);
  EXPECT_EQ(how(variant::pinned), 1);
  EXPECT_EQ(how(variant::pool), 2);
  EXPECT_EQ(how(variant::transfer), 3);
  EXPECT_EQ(how(variant::queues), 4);
}

TEST(result, speed_is_compared_at_the_same_size) {
  dgemm::options o;
  o.sizes = {100, 200};
  o.iterations = 10;
  dgemm::result r;
  r.run = {variant::naive, variant::queues};
  r.points = {{100, 1, 1, variant::naive, {4, 2, 3}},
              {100, 1, 1, variant::queues, {1}},
              {200, 1, 1, variant::naive, {8}},
              {200, 2, 1, variant::queues, {2}}};
  EXPECT_DOUBLE_EQ(r.speedup(r.points[1]), 3);
  EXPECT_DOUBLE_EQ(r.speedup(r.points[3]), 4);
  EXPECT_DOUBLE_EQ(r.points[1].gflops(10), 0.02);
  const auto report = nlohmann::json::parse(dgemm::report_json(o, r));
  EXPECT_EQ(report["points"].size(), 4U);
  EXPECT_EQ(report["reference"], "naive");
  EXPECT_DOUBLE_EQ(report["points"][3]["speedup"], 4);
  EXPECT_THAT(dgemm::tables_text(o, r), testing::HasSubstr("speed over naive"));
}

}  // namespace

}  // namespace result_test
