#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace task_trace_test {

/// What a trace says of tasks.
namespace {

namespace ix = imbrex;
using imbrex_test::command_line;
using imbrex_test::job_shape;
using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

/// The events of a run of `start`, whose exit code is `code`.
json events_of(const job_shape& shape, ix::task<int> (*start)(ix::runtime&), int code = 0) {
  const std::string file = testing::TempDir() + "task_trace." + std::to_string(getpid()) + ".json";
  command_line line(shape, {"--imbrex-trace=" + file});
  EXPECT_EQ(ix::run(line.count(), line.values(), start), code);
  std::ifstream in(file);
  json all = json::parse(std::string(std::istreambuf_iterator<char>(in), {}))["traceEvents"];
  std::remove(file.c_str());
  return all;
}

/// By name: names are given once here.
std::map<std::string, json> tasks_in(const json& events) {
  std::map<std::string, json> tasks;
  for (const json& e : events) {
    if (e["name"] == "imbrex_task") tasks[e["args"]["name"]] = e["args"];
  }
  return tasks;
}

std::vector<std::string> names_after(const std::map<std::string, json>& tasks, const std::string& name) {
  std::vector<std::string> names;
  for (const std::uint64_t number : tasks.at(name)["after"]) {
    for (const auto& [other, facts] : tasks) {
      if (facts["task"] == number) names.push_back(other);
    }
  }
  return names;
}

void nothing(std::span<int>) {}
void read(std::span<const int>) {}
void copy(std::span<const int>, std::span<int>) {}
void join(std::span<const int>, std::span<const int>, std::span<int>) {}

ix::task<int> diamond(ix::runtime&) {
  ix::hetero_object<int> x(4), y(4), z(4);
  ix::submit({.name = "top"}, nothing, write(x));
  ix::submit({.name = "left"}, copy, x, write(y));
  ix::submit({.name = "right"}, copy, x, write(z));
  ix::hetero_task bottom = ix::submit({.name = "bottom"}, join, y, z, x);
  co_await bottom;
  ix::hetero_task last = ix::submit({.name = std::string("la") + "st"}, read, x);  // the one before is over
  co_await last;
  co_return 0;
}

TEST(task_trace, says_what_each_waited_for_or_read_the_data_of) {
  for (const job_shape& shape :
       {job_shape{1, 1}, job_shape{3, 1}, job_shape{2, 2}, job_shape{.pes = 2, .ranks = 2, .in_virtual_time = true}}) {
    SCOPED_TRACE(to_text(shape));
#if !IMBREX_HAVE_TOML
    if (shape.in_virtual_time) continue;
#endif
    const auto tasks = tasks_in(events_of(shape, diamond));
    ASSERT_EQ(tasks.size(), 5u);
    EXPECT_THAT(names_after(tasks, "top"), IsEmpty());
    EXPECT_THAT(names_after(tasks, "left"), ElementsAre("top"));
    EXPECT_THAT(names_after(tasks, "right"), ElementsAre("top"));
    // It overwrites what two others read.
    EXPECT_THAT(names_after(tasks, "bottom"), testing::IsSupersetOf({"left", "right"}));
    EXPECT_THAT(names_after(tasks, "last"), ElementsAre("bottom"));
    for (const auto& [name, t] : tasks) {
      EXPECT_LE(t["submitted"], t["ready"]) << name;
      EXPECT_LE(t["ready"], t["began"]) << name;
      EXPECT_LE(t["began"], t["ended"]) << name;
      EXPECT_EQ(t["place"], "the host") << name;
      for (const std::string& before : names_after(tasks, name)) EXPECT_LE(tasks.at(before)["ended"], t["began"]);
    }
  }
}

TEST(task_trace, draws_an_arrow_from_the_last_that_a_task_waited_for) {
  const json events = events_of({1, 1}, diamond);
  std::map<std::string, std::pair<double, double>> slices;
  std::map<std::string, double> begins, ends;
  for (const json& e : events) {
    const std::string phase = e["ph"], category = e.value("cat", "");
    if (phase == "X" && category == "kernel")
      slices[e["name"]] = {e["ts"], e["ts"].get<double>() + e["dur"].get<double>()};
    if (category != "task") continue;
    if (phase == "s") begins[e["id"]] = e["ts"];
    if (phase == "f") ends[e["id"]] = e["ts"];
  }
  ASSERT_EQ(slices.size(), 5u);
  ASSERT_EQ(ends.size(), 3u);  // left, right, bottom
  const auto slice_at = [&](double t) {
    for (const auto& [name, s] : slices) {
      if (s.first <= t && t <= s.second) return name;
    }
    return std::string();
  };
  std::map<std::string, std::string> from;
  for (const auto& [id, at] : ends) from[slice_at(at)] = slice_at(begins.at(id));
  EXPECT_EQ(from["left"], "top");
  EXPECT_EQ(from["right"], "top");
  EXPECT_THAT(from["bottom"], testing::AnyOf("left", "right"));
}

ix::task<int> told(ix::runtime&) {
  ix::hetero_object<int> x(4), y(4);
  ix::hetero_task first = ix::submit({.name = "first"}, nothing, write(x));
  co_await first;
  const std::array earlier{first};
  ix::hetero_task second = ix::submit({.name = "second", .after = earlier}, nothing, write(y));
  co_await second;
  co_return 0;
}

TEST(task_trace, knows_what_tasks_were_told_to_follow) {
  EXPECT_THAT(names_after(tasks_in(events_of({1, 1}, told)), "second"), ElementsAre("first"));
}

ix::task<int> slices(ix::runtime&) {
  ix::hetero_object<int> x(8);
  ix::hetero_object<int> low = x.slice(0, 4), high = x.slice(4, 4);
  ix::submit({.name = "all"}, nothing, write(x));
  ix::submit({.name = "low"}, nothing, low);
  ix::submit({.name = "high"}, nothing, high);
  ix::hetero_task end = ix::submit({.name = "end"}, read, x);
  co_await end;
  co_return 0;
}

TEST(task_trace, knows_slices) {
  const auto tasks = tasks_in(events_of({1, 1}, slices));
  EXPECT_THAT(names_after(tasks, "low"), ElementsAre("all"));
  EXPECT_THAT(names_after(tasks, "high"), ElementsAre("all"));
  EXPECT_THAT(names_after(tasks, "end"), testing::IsSupersetOf({"low", "high"}));
}

ix::task<int> failing(ix::runtime&) {
  ix::hetero_object<int> x(4);
  ix::submit({.name = "breaks"}, [](std::span<int>) { throw std::runtime_error("on purpose"); }, write(x));
  ix::hetero_task t = ix::submit({.name = "suffers"}, read, x);
  try {
    co_await t;
  } catch (const imbrex::error&) {
    co_return 0;
  }
  co_return 1;
}

TEST(task_trace, says_which_have_failed) {
  const auto tasks = tasks_in(events_of({1, 1}, failing));
  EXPECT_EQ(tasks.at("breaks").value("failed", false), true);
  EXPECT_EQ(tasks.at("suffers").value("failed", false), true);
  EXPECT_FALSE(tasks.at("suffers").contains("began"));
}

}  // namespace

}  // namespace task_trace_test
