#include "imbrex/trace/trace_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/trace/trace.h"

namespace trace_summary_test {

namespace {

using imbrex::summarise_trace;
using imbrex::trace_summary;

// Two PEs, 0 to 100 us. The message 0x1 is on its way from 10 to 50 us; PE 1 runs from 20 to 40 and from 50 to 60.
constexpr const char* two_pes = R"({"traceEvents":[
{"ph":"M","name":"thread_name","pid":0,"tid":2,"args":{"name":"PE 1"}},
{"ph":"M","name":"thread_sort_index","pid":0,"tid":2,"args":{"sort_index":0}},
{"ph":"M","name":"imbrex_track","pid":0,"tid":2,"args":{"kind":"pe","same_pe":[1,10],"other_pe":[0,0],"other_rank":[2,300],"dropped":0}},
{"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"name":"PE 0"}},
{"ph":"M","name":"thread_sort_index","pid":0,"tid":1,"args":{"sort_index":-1}},
{"ph":"M","name":"imbrex_track","pid":0,"tid":1,"args":{"kind":"pe","same_pe":[2,20],"other_pe":[1,8],"other_rank":[0,0],"dropped":3}},
{"ph":"M","name":"imbrex_track","pid":0,"tid":3,"args":{"kind":"stream","same_pe":[0,0],"other_pe":[0,0],"other_rank":[0,0],"dropped":0}},
{"ph":"f","bp":"e","name":"message","cat":"comm","id":"0x1","pid":0,"tid":2,"ts":50},
{"ph":"s","name":"message","cat":"comm","id":"0x1","pid":0,"tid":1,"ts":10},
{"ph":"s","name":"message","cat":"comm","id":"0x2","pid":0,"tid":1,"ts":11},
{"ph":"f","bp":"e","name":"message","cat":"comm","id":"0x2","pid":0,"tid":1,"ts":19},
{"ph":"s","name":"message","cat":"comm","id":"0x3","pid":0,"tid":1,"ts":12},
{"ph":"X","name":"start","cat":"entry","pid":0,"tid":1,"ts":0,"dur":20},
{"ph":"X","name":"update","cat":"kernel","pid":0,"tid":1,"ts":5,"dur":5},
{"ph":"X","name":"idle","cat":"idle","pid":0,"tid":1,"ts":20,"dur":80},
{"ph":"X","name":"idle","cat":"idle","pid":0,"tid":2,"ts":0,"dur":20},
{"ph":"X","name":"block::run","cat":"entry","pid":0,"tid":2,"ts":20,"dur":20},
{"ph":"b","name":"block::run","cat":"wait","id2":{"local":"0xa"},"pid":0,"tid":2,"ts":40},
{"ph":"e","name":"block::run","cat":"wait","id2":{"local":"0xa"},"pid":0,"tid":2,"ts":50},
{"ph":"b","name":"block::run","cat":"wait","id2":{"local":"0xa"},"pid":0,"tid":2,"ts":60},
{"ph":"X","name":"block::run","cat":"entry","pid":0,"tid":2,"ts":50,"dur":10},
{"ph":"i","name":"mark","cat":"runtime","s":"t","pid":0,"tid":2,"ts":61}
],"displayTimeUnit":"ns","otherData":{"producer":"imbrex"}})";

TEST(trace_summary, adds_up_entry_methods) {
  const trace_summary s = summarise_trace(two_pes);
  EXPECT_EQ(s.duration, 100'000);
  ASSERT_EQ(s.entries.size(), 2u);
  EXPECT_EQ(s.entries[0].name, "block::run");
  EXPECT_EQ(s.entries[0].runs, 2u);
  EXPECT_EQ(s.entries[0].total, 30'000);
  EXPECT_EQ(s.entries[0].longest, 20'000);
  EXPECT_DOUBLE_EQ(s.entries[0].mean(), 15'000);
  EXPECT_EQ(s.entries[0].waits, 2u);
  EXPECT_EQ(s.entries[0].waited, 10'000);
  EXPECT_EQ(s.entries[1].name, "start");
  ASSERT_EQ(s.kernels.size(), 1u);
  EXPECT_EQ(s.kernels[0].total, 5'000);
}

TEST(trace_summary, tells_how_many_copies_of_a_gpu_kernels_hide) {
  const trace_summary s = summarise_trace(R"({"traceEvents":[
{"ph":"M","name":"thread_name","pid":0,"tid":5,"args":{"name":"GPU 0: the compute stream of a"}},
{"ph":"M","name":"imbrex_track","pid":0,"tid":5,"args":{"kind":"stream"}},
{"ph":"M","name":"thread_name","pid":0,"tid":6,"args":{"name":"GPU 0: the to_host stream of b"}},
{"ph":"M","name":"imbrex_track","pid":0,"tid":6,"args":{"kind":"stream"}},
{"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"GPU 1: the to_host stream of c"}},
{"ph":"M","name":"imbrex_track","pid":0,"tid":7,"args":{"kind":"stream"}},
{"ph":"X","name":"update","cat":"kernel","pid":0,"tid":5,"ts":10,"dur":20},
{"ph":"X","name":"copy","cat":"copy","pid":0,"tid":6,"ts":25,"dur":10},
{"ph":"X","name":"copy","cat":"copy","pid":0,"tid":7,"ts":10,"dur":10}
]})");
  EXPECT_EQ(s.copying, 20'000);
  EXPECT_EQ(s.hidden, 5'000);  // a kernel hides copies of its own GPU only
}

TEST(trace_summary, measures_idle_time_and_overlap_of_each_pe) {
  const trace_summary s = summarise_trace(two_pes);
  ASSERT_EQ(s.tracks.size(), 3u);
  EXPECT_EQ(s.tracks[0].name, "PE 0");
  EXPECT_EQ(s.tracks[0].busy, 20'000);  // the kernel inside the entry method counts once
  EXPECT_EQ(s.tracks[0].idle, 80'000);
  EXPECT_EQ(s.tracks[0].in_flight, 0);  // a message to itself is no communication, a lost one neither
  EXPECT_EQ(s.tracks[1].name, "PE 1");
  EXPECT_EQ(s.tracks[1].in_flight, 40'000);
  EXPECT_EQ(s.tracks[1].overlapped, 20'000);
  EXPECT_FALSE(s.tracks[2].is_pe);
  EXPECT_DOUBLE_EQ(s.overlap(), 0.5);
  EXPECT_DOUBLE_EQ(s.idle_share(), 0.5);
}

// A PE that waits runs what others offer it: that is within the slice of its waiting.
TEST(trace_summary, is_not_idle_while_it_helps_others) {
  const trace_summary s = summarise_trace(R"({"traceEvents":[
{"ph":"X","name":"idle","cat":"idle","pid":0,"tid":1,"ts":0,"dur":100},
{"ph":"X","name":"a task","cat":"kernel","pid":0,"tid":1,"ts":10,"dur":60},
{"ph":"X","name":"run","cat":"entry","pid":0,"tid":1,"ts":100,"dur":20}]})");
  ASSERT_EQ(s.tracks.size(), 1u);
  EXPECT_EQ(s.tracks[0].busy, 80'000);
  EXPECT_EQ(s.tracks[0].idle, 40'000);
}

TEST(trace_summary, tells_what_is_no_number_among_the_values_of_a_counter) {
  imbrex::trace_recorder r(0, 0);
  imbrex::trace_track& a = r.add_track("PE 0", 0);
  a.begin("run", imbrex::trace_category::entry, 1000);
  for (const double v : {2.0, std::nan(""), 4.0, HUGE_VAL}) a.counter("residual", v, 2000);
  a.counter("all", std::nan(""), 2000);
  a.end(3000);
  const trace_summary s = summarise_trace("{\"traceEvents\":[" + r.json_fragment() + "]}");
  ASSERT_EQ(s.counters.size(), 2u);
  EXPECT_EQ(s.counters[0].count, s.counters[0].no_numbers);
  const imbrex::mark_summary& m = s.counters[1];
  EXPECT_EQ(m.count, 4u);
  EXPECT_EQ(m.no_numbers, 2u);
  EXPECT_EQ(m.least, 2);
  EXPECT_EQ(m.most, 4);
  EXPECT_EQ(m.mean(), 3);
}

TEST(trace_summary, reads_names_of_any_bytes) {
  imbrex::trace_recorder r(0, 0);
  imbrex::trace_track& a = r.add_track("PE 0", 0);
  const char* const names[] = {"caf\xe9",  "caf\xc3\xa9", "\xed\xa0\x80", "\xf0\x9f\x8c\x8d",
                               "\xc0\x80", "a\"\\\n",     "\xe2\x82"};
  for (const char* const name : names) {
    a.begin(name, imbrex::trace_category::entry, 1000);
    a.end(2000);
  }
  const trace_summary s = summarise_trace("{\"traceEvents\":[" + r.json_fragment() + "]}");
  std::vector<std::string> found;
  for (const imbrex::entry_summary& e : s.entries) found.push_back(e.name);
  const std::string unknown = "\xef\xbf\xbd";
  EXPECT_THAT(found, testing::UnorderedElementsAre("caf" + unknown, "caf\xc3\xa9", unknown + unknown + unknown,
                                                   "\xf0\x9f\x8c\x8d", unknown + unknown, "a\"\\\n"));
}

TEST(trace_summary, adds_up_messages) {
  const trace_summary s = summarise_trace(two_pes);
  EXPECT_EQ(s.same_pe.count, 3u);
  EXPECT_EQ(s.same_pe.bytes, 30u);
  EXPECT_EQ(s.other_pe.count, 1u);
  EXPECT_EQ(s.other_rank.bytes, 300u);
  EXPECT_EQ(s.dropped, 3u);
}

TEST(trace_summary, reads_what_the_recorder_writes) {
  imbrex::trace_recorder r(0, 0);
  imbrex::trace_track& a = r.add_track("PE 0", 0);
  imbrex::trace_track& b = r.add_track("PE 1", 1);
  a.begin("sender", imbrex::trace_category::entry, 1000);
  const std::uint64_t id = a.new_flow(2000);
  a.count_message(64, imbrex::message_reach::other_pe);
  a.end(3000);
  b.begin("work", imbrex::trace_category::entry, 1000);
  b.end(4000);
  b.begin("receiver", imbrex::trace_category::entry, 6000);
  b.flow_in(id, 6000);
  b.end(7123);
  const trace_summary s = summarise_trace("{\"traceEvents\":[" + r.json_fragment() + "]}");
  EXPECT_EQ(s.duration, 6123);
  ASSERT_EQ(s.entries.size(), 3u);
  EXPECT_EQ(s.entries[0].name, "work");
  EXPECT_EQ(s.other_pe.bytes, 64u);
  EXPECT_EQ(s.tracks[1].in_flight, 4000);
  EXPECT_EQ(s.tracks[1].overlapped, 2000);
}

TEST(trace_summary, an_empty_trace_has_no_shares) {
  const trace_summary s = summarise_trace(R"({"traceEvents":[]})");
  EXPECT_EQ(s.duration, 0);
  EXPECT_EQ(s.overlap(), 0);
  EXPECT_EQ(s.idle_share(), 0);
  EXPECT_TRUE(summarise_trace("[]").tracks.empty());
}

std::string complaint_about(const std::string& text, int code = 1) {
  try {
    summarise_trace(text, "x.json");
  } catch (const imbrex::error& e) {
    EXPECT_EQ(e.exit_code(), code);
    return e.what();
  }
  return "none";
}

TEST(trace_summary, refuses_events_that_have_no_time) {
  EXPECT_THAT(complaint_about(R"([{"ph":"X","name":"a","cat":"entry","ts":1}])"),
              testing::HasSubstr("x.json: event 1, 'a', has no number 'dur'"));
  EXPECT_THAT(complaint_about(R"([{"ph":"X","name":"a","cat":"entry","ts":1,"dur":"5"}])"),
              testing::HasSubstr("'dur'"));
  EXPECT_THAT(complaint_about(R"([{"ph":"M","name":"thread_name"},{"ph":"i","name":"b"}])"),
              testing::HasSubstr("event 2, 'b', has no number 'ts'"));
  EXPECT_THAT(complaint_about(R"([{"ph":"X","name":"a","cat":"entry","ts":1,"dur":-5}])"),
              testing::HasSubstr("'a', lasts -5 us"));
}

TEST(trace_summary, names_a_file_that_is_no_trace) {
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_THAT(complaint_about("", 2), AllOf(HasSubstr("'x.json'"), HasSubstr("byte")));
  EXPECT_THAT(complaint_about(std::string(two_pes).substr(0, 500), 2), HasSubstr("cut short"));
  EXPECT_THAT(complaint_about("{}", 2), HasSubstr("no traceEvents"));
  EXPECT_THAT(complaint_about("3", 2), HasSubstr("no traceEvents"));
  EXPECT_THROW(imbrex::read_trace_summary("/no/such/file"), imbrex::error);
  EXPECT_THROW(imbrex::read_trace_summary("/"), imbrex::error);
}

TEST(trace_summary, passes_over_events_with_odd_fields) {
  const trace_summary s = summarise_trace(
      R"({"traceEvents":[{"ph":3},{"ph":"M","args":7},{"ph":"X","ts":0,"dur":0,"cat":5,"name":[]},
      {"ph":"M","name":"imbrex_track","args":{"same_pe":["a","b"],"other_pe":[1]}},
      {"ph":"b","ts":0,"cat":"wait","id2":7,"id":4}]})");
  EXPECT_EQ(s.duration, 0);
  EXPECT_EQ(s.same_pe.count, 0u);
}

}  // namespace

}  // namespace trace_summary_test
