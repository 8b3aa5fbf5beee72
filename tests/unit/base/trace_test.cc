#include "imbrex/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/trace/trace_file.h"

namespace trace_test {

namespace {

namespace fs = std::filesystem;
using imbrex::message_reach;
using imbrex::trace_category;
using imbrex::trace_recorder;
using imbrex::trace_task;
using imbrex::trace_track;
using imbrex::track_kind;
using nlohmann::json;

json events_of(const trace_recorder& r) { return json::parse("[" + r.json_fragment() + "]"); }

json with_phase(const json& events, const std::string& phase) {
  json found = json::array();
  for (const json& e : events) {
    if (e["ph"] == phase) found.push_back(e);
  }
  return found;
}

/// A folder of its own, gone at the end.
class trace_file : public testing::Test {
 protected:
  trace_file() : folder_(fs::temp_directory_path() / ("imbrex_trace_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~trace_file() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t num_files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string text_of(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  fs::path folder_;
};

TEST(trace, writes_slices_in_microseconds_since_the_start) {
  trace_recorder r(2, 1'000'000);
  trace_track& t = r.add_track("PE 5", 5);
  t.begin("block::run", trace_category::entry, 1'001'500);
  t.slice("update", trace_category::kernel, 1'002'000, 1'002'001);
  t.end(1'003'250);
  const json slices = with_phase(events_of(r), "X");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0]["name"], "block::run");
  EXPECT_EQ(slices[0]["cat"], "entry");
  EXPECT_EQ(slices[0]["pid"], 2);
  EXPECT_DOUBLE_EQ(slices[0]["ts"].get<double>(), 1.5);
  EXPECT_DOUBLE_EQ(slices[0]["dur"].get<double>(), 1.75);
  EXPECT_DOUBLE_EQ(slices[1]["dur"].get<double>(), 0.001);
  EXPECT_EQ(slices[1]["tid"], slices[0]["tid"]);
}

TEST(trace, a_range_within_a_slice_is_a_slice_inside_it) {
  trace_recorder r(0, 0);
  trace_track& t = r.add_track("PE 0", 0);
  t.begin("block::run", trace_category::entry, 1'000);
  const trace_track::range outer = t.range_begin("outer", 2'000);
  const trace_track::range inner = t.range_begin("inner", 3'000);
  t.begin("nested", trace_category::entry, 3'100);
  t.end(3'200);
  t.range_end(inner, 4'000);
  t.range_end(outer, 5'000);
  t.end(6'000);
  const json slices = with_phase(events_of(r), "X");
  ASSERT_EQ(slices.size(), 4u);
  EXPECT_EQ(slices[1]["name"], "outer");
  EXPECT_EQ(slices[1]["cat"], "user");
  EXPECT_DOUBLE_EQ(slices[1]["dur"].get<double>(), 3);
  EXPECT_EQ(slices[2]["name"], "inner");
  EXPECT_DOUBLE_EQ(slices[2]["dur"].get<double>(), 1);
}

TEST(trace, a_range_that_its_coroutine_leaves_stands_on_a_line_of_its_own) {
  trace_recorder r(0, 0);
  trace_track& t = r.add_track("PE 0", 0);
  t.begin("block::run", trace_category::entry, 1'000);
  const trace_track::range waits = t.range_begin("iteration", 2'000);
  t.end(3'000);  // the coroutine waits
  t.begin("block::run", trace_category::entry, 4'000);
  t.range_end(waits, 5'000);
  t.end(6'000);
  const json events = events_of(r);
  EXPECT_EQ(with_phase(events, "X").size(), 2u);
  const json begins = with_phase(events, "b");
  const json ends = with_phase(events, "e");
  ASSERT_EQ(begins.size(), 1u);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(begins[0]["name"], "iteration");
  EXPECT_EQ(begins[0]["cat"], "user");
  EXPECT_EQ(begins[0]["id2"], ends[0]["id2"]);
  EXPECT_DOUBLE_EQ(begins[0]["ts"].get<double>(), 2);
  EXPECT_DOUBLE_EQ(ends[0]["ts"].get<double>(), 5);
}

TEST(trace, counters_have_a_curve_for_each_track) {
  trace_recorder r(0, 0);
  trace_track& t = r.add_track("PE 0", 0);
  trace_track& other = r.add_track("PE 1", 1);
  t.counter("cells", 2.5, 1'000);
  t.counter("cells", std::nan(""), 2'000);
  other.counter("cells", -4, 1'500);
  const json counters = with_phase(events_of(r), "C");
  ASSERT_EQ(counters.size(), 3u);
  EXPECT_DOUBLE_EQ(counters[0]["args"]["value"].get<double>(), 2.5);
  EXPECT_TRUE(counters[1]["args"].empty());
  EXPECT_DOUBLE_EQ(counters[2]["args"]["value"].get<double>(), -4);
  EXPECT_NE(counters[0]["id"], counters[2]["id"]);
}

TEST(trace, names_processes_and_tracks_in_order) {
  trace_recorder r(1);
  r.add_track("PE 0", 7);
  r.add_track("GPU 0 \"compute\"\n", 9, track_kind::stream);
  std::map<std::string, std::vector<json>> by_name;
  for (const json& e : with_phase(events_of(r), "M")) by_name[e["name"]].push_back(e["args"]);
  EXPECT_EQ(by_name["process_name"][0]["name"], "rank 1");
  EXPECT_EQ(by_name["thread_name"][1]["name"], "GPU 0 \"compute\"\n");
  EXPECT_EQ(by_name["thread_sort_index"][1]["sort_index"], 9);
  EXPECT_EQ(by_name["imbrex_track"][0]["kind"], "pe");
  EXPECT_EQ(by_name["imbrex_track"][1]["kind"], "stream");
}

TEST(trace, message_arrows_have_ids_of_their_own_in_the_job) {
  trace_recorder r0(0), r1(1);
  std::set<std::uint64_t> ids;
  trace_track* tracks[] = {&r0.add_track("PE 0", 0), &r0.add_track("PE 1", 1), &r1.add_track("PE 2", 0)};
  for (trace_track* t : tracks) {
    for (int i = 0; i < 100; ++i) ids.insert(t->new_flow());
  }
  EXPECT_EQ(ids.size(), 300u);
  EXPECT_EQ(ids.count(0), 0u);
}

TEST(trace, a_message_arrow_goes_from_slice_to_slice) {
  trace_recorder r(0, 0);
  trace_track& a = r.add_track("PE 0", 0);
  trace_track& b = r.add_track("PE 1", 1);
  a.begin("sender", trace_category::entry, 1000);
  const std::uint64_t id = a.new_flow(1500);
  a.end(2000);
  b.begin("receiver", trace_category::entry, 3000);
  b.flow_in(id, 3000);
  b.end(4000);
  const json events = events_of(r);
  const json out = with_phase(events, "s"), in = with_phase(events, "f");
  ASSERT_EQ(out.size(), 1u);
  ASSERT_EQ(in.size(), 1u);
  EXPECT_EQ(out[0]["id"], in[0]["id"]);
  EXPECT_EQ(out[0]["cat"], in[0]["cat"]);
  EXPECT_EQ(out[0]["name"], in[0]["name"]);
  EXPECT_EQ(in[0]["bp"], "e");
  EXPECT_DOUBLE_EQ(out[0]["ts"].get<double>(), 1.5);
}

TEST(trace, an_arrow_without_a_slice_gets_a_short_one_that_disturbs_nothing) {
  trace_recorder r(0, 0);
  trace_track& t = r.add_track("PE 0", 0);
  t.new_flow(1000);
  t.new_flow(1000);
  t.begin("work", trace_category::entry, 1030);
  t.new_flow(1040);
  t.end(1050);
  t.new_flow(2000);
  const json slices = with_phase(events_of(r), "X");
  ASSERT_EQ(slices.size(), 4u);  // at 1000 twice (the first has no room for a length), work, at 2000
  EXPECT_DOUBLE_EQ(slices[0]["dur"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(slices[1]["dur"].get<double>(), 0.03);
  EXPECT_EQ(slices[1]["cat"], "comm");
  EXPECT_EQ(slices[2]["name"], "work");
  EXPECT_DOUBLE_EQ(slices[3]["ts"].get<double>(), 2.0);
  EXPECT_DOUBLE_EQ(slices[3]["dur"].get<double>(), 0.1);
}

TEST(trace, counts_messages) {
  trace_recorder r(0);
  trace_track& t = r.add_track("PE 0", 0);
  t.count_message(8, message_reach::same_pe);
  t.count_message(100, message_reach::other_rank);
  t.count_message(5'000'000'000, message_reach::other_rank);
  for (const json& e : events_of(r)) {
    if (e["name"] != "imbrex_track") continue;
    EXPECT_EQ(e["args"]["same_pe"], json::array({1, 8}));
    EXPECT_EQ(e["args"]["other_pe"], json::array({0, 0}));
    EXPECT_EQ(e["args"]["other_rank"], json::array({2, 5'000'000'100}));
  }
}

TEST(trace, waits_are_pairs_that_may_overlap) {
  trace_recorder r(0, 0);
  trace_track& t = r.add_track("PE 0", 0);
  const int a = 0, b = 0;
  t.wait_begin("run", &a, 1000);
  t.wait_begin("run", &b, 2000);
  t.wait_end("run", &a, 3000);
  t.wait_end("run", &b, 4000);
  const json events = events_of(r);
  const json begins = with_phase(events, "b"), ends = with_phase(events, "e");
  ASSERT_EQ(begins.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(begins[0]["id2"], ends[0]["id2"]);
  EXPECT_NE(begins[0]["id2"], begins[1]["id2"]);
  EXPECT_EQ(begins[0]["cat"], "wait");
}

TEST(trace, closes_what_is_open_and_forgives_an_end_too_many) {
  trace_recorder r(0, 0);
  trace_track& t = r.add_track("PE 0", 0);
  t.end(500);
  t.begin("outer", trace_category::entry, 1000);
  t.begin("inner", trace_category::runtime, 2000);
  t.end(3000);
  t.instant("failed", trace_category::runtime, 4000);
  const json slices = with_phase(events_of(r), "X");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_DOUBLE_EQ(slices[0]["dur"].get<double>(), 3.0);
  EXPECT_DOUBLE_EQ(slices[1]["dur"].get<double>(), 1.0);
}

TEST(trace, what_came_before_the_start_counts_as_the_start) {
  trace_recorder r(0, 10'000);
  trace_track& t = r.add_track("PE 0", 0);
  t.slice("early", trace_category::runtime, 5000, 12'000);
  const json slices = with_phase(events_of(r), "X");
  EXPECT_DOUBLE_EQ(slices[0]["ts"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(slices[0]["dur"].get<double>(), 2.0);
}

/// Whether slices of one track nest: each ends before the one around it does.
void expect_nested(const json& slices) {
  std::vector<std::int64_t> open_ends;
  for (const json& s : slices) {
    const std::int64_t start = std::llround(s["ts"].get<double>() * 1000);
    const std::int64_t end = start + std::llround(s["dur"].get<double>() * 1000);
    while (!open_ends.empty() && open_ends.back() <= start) open_ends.pop_back();
    ASSERT_TRUE(open_ends.empty() || end <= open_ends.back());
    open_ends.push_back(end);
  }
}

TEST(trace, many_records_from_many_threads_stay_sorted_and_nested) {
  trace_recorder r(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&r, i] {
      trace_track& t = r.add_track("PE " + std::to_string(i), i);
      for (int n = 0; n < 1000; ++n) {
        t.begin("outer", trace_category::entry);
        t.begin(r.intern("inner " + std::to_string(n % 3)), trace_category::runtime);
        t.new_flow();
        t.end();
        t.end();
        t.idle_begin();
        t.idle_end();
      }
      EXPECT_EQ(t.num_records(), 4000u);
    });
  }
  for (std::thread& t : threads) t.join();
  std::map<int, json> tracks;
  for (const json& e : with_phase(events_of(r), "X")) {
    auto& list = tracks[e["tid"].get<int>()];
    if (list.is_null()) list = json::array();
    list.push_back(e);
  }
  ASSERT_EQ(tracks.size(), 3u);
  for (const auto& [tid, slices] : tracks) {
    ASSERT_EQ(slices.size(), 3000u);
    EXPECT_TRUE(std::is_sorted(slices.begin(), slices.end(), [](const json& a, const json& b) {
      return a["ts"].get<double>() < b["ts"].get<double>();
    }));
    expect_nested(slices);
  }
}

TEST(trace, a_recorder_that_keeps_nothing_has_no_events_but_numbers_of_arrows) {
  trace_recorder r(0, 0, trace_recorder::keep_nothing);
  trace_track& t = r.add_track("PE 0", 0);
  t.begin("a", trace_category::entry, 10);
  EXPECT_NE(t.new_flow(12), t.new_flow(13));
  t.end(20);
  t.task({});
  EXPECT_EQ(r.json_fragment(), "");
}

TEST(trace, tasks_are_told_with_what_they_waited_for) {
  trace_recorder r(0, 1000);
  trace_track& t = r.add_track("PE 0", 0);
  t.task({.number = 3,
          .name = "\"gemm\"",
          .place = "GPU 0",
          .submitted = 2000,
          .ready = 3000,
          .began = 4500,
          .ended = 6000,
          .failed = true,
          .after = {1, 2}});
  trace_task later;
  later.number = 4;
  later.submitted = 2500;
  t.task(later);
  const json events = events_of(r);
  std::vector<json> tasks;
  for (const json& e : events) {
    if (e["name"] == "imbrex_task") tasks.push_back(e["args"]);
  }
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0], json::parse(R"({"task":3,"name":"\"gemm\"","place":"GPU 0","submitted":1.0,"ready":2.0,
                                      "began":3.5,"ended":5.0,"failed":true,"after":[1,2]})"));
  EXPECT_EQ(tasks[1], json::parse(R"({"task":4,"name":"task","place":"","submitted":1.5,"after":[]})"));
}

TEST(trace, an_arrow_between_tasks_begins_in_the_last_slice) {
  struct : imbrex::time_source {
    std::int64_t now_ns() const override { return 350; }
  } time;
  trace_recorder r(0, 0);
  trace_track& t = r.add_track("PE 0", 0);
  t.take_time_from(time);
  t.begin("one", trace_category::kernel, 100);
  t.end(200);
  const std::uint64_t id = t.new_task_flow();
  t.begin("other", trace_category::kernel, 300);
  t.task_flow_in(id);
  t.end(400);
  const json events = events_of(r);
  EXPECT_EQ(with_phase(events, "X").size(), 2u);
  const json from = with_phase(events, "s").at(0);
  EXPECT_EQ(from["cat"], "task");
  EXPECT_DOUBLE_EQ(from["ts"].get<double>(), 0.199);
}

TEST(trace, a_full_track_drops_and_says_so) {
  trace_recorder r(0, 0, 3000);
  trace_track& t = r.add_track("PE 0", 0);
  for (int i = 0; i < 4000; ++i) {
    t.begin("a", trace_category::entry, 10 * i);
    t.end(10 * i + 5);
  }
  EXPECT_EQ(t.num_records(), 3000u);
  EXPECT_EQ(t.num_dropped(), 1000u);
  const json events = events_of(r);
  EXPECT_EQ(with_phase(events, "X").size(), 3000u);
  EXPECT_NE(r.json_fragment().find("\"dropped\":1000"), std::string::npos);
}

TEST(trace, interned_names_are_kept_once) {
  trace_recorder r(0);
  const char* first = r.intern(std::string(100, 'x'));
  EXPECT_EQ(first, r.intern(std::string(100, 'x')));
  EXPECT_EQ(std::string(first), std::string(100, 'x'));
}

void write(const std::string& name, const std::vector<std::string>& fragments) {
  imbrex::trace_file file(name);
  for (const std::string& f : fragments) file.add(f);
  file.finish(static_cast<int>(fragments.size()), 2);
}

TEST_F(trace_file, one_that_is_not_finished_replaces_nothing) {
  const std::string name = path("t.json");
  std::ofstream(name) << "old";
  {
    imbrex::trace_file file(name);
    file.add("{}");
    EXPECT_EQ(num_files(), 2u);
  }
  EXPECT_EQ(text_of(name), "old");
  EXPECT_EQ(num_files(), 1u);
}

TEST_F(trace_file, holds_the_events_of_all_ranks) {
  trace_recorder a(0), b(1);
  a.add_track("PE 0", 0);
  b.add_track("PE 1", 0);
  const std::string name = path("t.json");
  imbrex::trace_file::check_writable(name);
  EXPECT_EQ(num_files(), 0u);
  write(name, {a.json_fragment(), "", b.json_fragment()});
  const json j = json::parse(text_of(name));
  EXPECT_EQ(j["displayTimeUnit"], "ns");
  EXPECT_EQ(j["traceEvents"].size(), 10u);
  EXPECT_EQ(j["otherData"]["ranks"], 3);
  EXPECT_EQ(j["otherData"]["recorded"], 2);
  EXPECT_EQ(num_files(), 1u);
}

TEST_F(trace_file, an_old_file_is_replaced_and_a_link_followed) {
  const std::string name = path("t.json"), link = path("link.json");
  std::ofstream(name) << "old";
  fs::create_symlink("t.json", link);
  imbrex::trace_file::check_writable(link);
  EXPECT_EQ(text_of(name), "old");
  write(link, {});
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(json::parse(text_of(name))["traceEvents"].empty());
}

TEST_F(trace_file, names_what_cannot_be_written) {
  const std::string inside_nothing = path("no/such/t.json");
  EXPECT_THROW(imbrex::trace_file::check_writable(inside_nothing), imbrex::config_error);
  EXPECT_THROW(imbrex::trace_file::check_writable(path(".")), imbrex::config_error);
  EXPECT_THROW(imbrex::trace_file::check_writable(""), imbrex::config_error);
  try {
    write(inside_nothing, {});
    FAIL();
  } catch (const imbrex::error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr(inside_nothing));
    EXPECT_EQ(e.exit_code(), 1);
  }
}

TEST_F(trace_file, a_device_is_written_to_and_not_replaced) {
  imbrex::trace_file::check_writable("/dev/null");
  write("/dev/null", {});
  struct stat status{};
  ASSERT_EQ(stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
  if (access("/dev/full", W_OK) == 0) {
    EXPECT_THROW(write("/dev/full", {std::string(1 << 20, ' ')}), imbrex::error);
  }
}

}  // namespace

}  // namespace trace_test
