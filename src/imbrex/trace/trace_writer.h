#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "imbrex/base/ids.h"
#include "imbrex/trace/trace.h"

namespace imbrex {

/// Turns one rank's tracks into text: events of a Chrome trace, separated by commas.
class trace_writer {
 public:
  trace_writer(rank_id rank, std::int64_t start_ns) : rank_(rank), start_ns_(start_ns) {}

  void write_process();
  void write_track(const trace_track& t, std::size_t tid);
  std::string take() { return std::move(text_); }

 private:
  void separate();
  void metadata(const char* what, std::size_t tid, const std::string& arguments);
  std::int64_t relative(std::int64_t at) const;
  void append_microseconds(std::int64_t ns);
  void write_footing(std::int64_t at, std::int64_t next);
  void write_head(std::string_view name, trace_category category, std::int64_t at);
  void append_duration(std::int64_t start, std::int64_t end);
  void write_record(const trace_track& t, const trace_track::record& r);
  void append_counter(double value);
  void append_wait(char phase, std::int64_t who);
  void write_task(const trace_task& t);

  rank_id rank_;
  std::int64_t start_ns_;
  std::size_t tid_ = 0;
  std::int64_t covered_until_ = -1;  // the latest end of the slices written of this track
  std::string text_;
};

}  // namespace imbrex
