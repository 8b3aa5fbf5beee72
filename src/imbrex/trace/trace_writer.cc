#include "imbrex/trace/trace_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

namespace imbrex {

namespace {

/// How many bytes of `text` from `at` on are one character of UTF-8, that JSON may have as it is; 0: they are none.
std::size_t bytes_of_character(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  const bool is_none = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return is_none ? 0 : bytes;
}

/// Names may be of any bytes: what is no UTF-8 stands as U+FFFD.
void append_quoted(std::string& to, std::string_view text) {
  to += '"';
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t bytes = bytes_of_character(text, at);
    if (bytes == 0) {
      to += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      to.append(text, at, bytes);
    }
    at += std::max<std::size_t>(bytes, 1);
  }
  to += '"';
}

}  // namespace

void trace_writer::write_process() {
  metadata("process_name", 0, fmt::format(R"("name":"rank {}")", rank_));
  metadata("process_sort_index", 0, fmt::format(R"("sort_index":{})", rank_));
}

void trace_writer::write_track(const trace_track& t, std::size_t tid) {
  tid_ = tid;
  std::string name = R"("name":)";
  append_quoted(name, t.name_);
  metadata("thread_name", tid, name);
  metadata("thread_sort_index", tid, fmt::format(R"("sort_index":{})", t.order_));
  const auto of = [&t](message_reach reach) {
    const auto i = static_cast<std::size_t>(reach);
    return fmt::format("[{},{}]", t.messages_[i], t.bytes_[i]);
  };
  metadata("imbrex_track", tid,
           fmt::format(R"("kind":"{}","same_pe":{},"other_pe":{},"other_rank":{},"dropped":{})",
                       t.kind_ == track_kind::pe ? "pe" : "stream", of(message_reach::same_pe),
                       of(message_reach::other_pe), of(message_reach::other_rank), t.num_dropped_));
  covered_until_ = -1;
  const auto is_flow = [](const trace_track::record& r) {
    return r.what == trace_track::kind::flow_out || r.what == trace_track::kind::flow_in;
  };
  for (std::uint64_t i = 0; i < t.num_records_; ++i) {
    const trace_track::record& r = t.at(i);
    if (is_flow(r) && relative(r.start) >= covered_until_) {
      write_footing(relative(r.start), i + 1 < t.num_records_ ? relative(t.at(i + 1).start) : INT64_MAX);
    }
    write_record(t, r);
  }
  for (const trace_task& task : t.tasks_) write_task(task);
}

// As metadata, which other readers of such traces pass over.
void trace_writer::write_task(const trace_task& t) {
  std::string all = fmt::format(R"("task":{},"name":)", t.number);
  append_quoted(all, t.name);
  all += R"(,"place":)";
  append_quoted(all, t.place != nullptr ? t.place : "");
  const auto moment = [&](const char* name, std::int64_t at) {
    if (at == 0) return;
    fmt::format_to(std::back_inserter(all), R"(,"{}":{}.{:03})", name, relative(at) / 1000, relative(at) % 1000);
  };
  moment("submitted", t.submitted);
  moment("ready", t.ready);
  moment("began", t.began);
  moment("ended", t.ended);
  if (t.failed) all += R"(,"failed":true)";
  fmt::format_to(std::back_inserter(all), R"(,"after":[{}])", fmt::join(t.after, ","));
  metadata("imbrex_task", tid_, all);
}

void trace_writer::separate() {
  if (!text_.empty()) text_ += ",\n";
}

void trace_writer::metadata(const char* what, std::size_t tid, const std::string& arguments) {
  separate();
  fmt::format_to(std::back_inserter(text_), R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{{}}}}})", what, rank_,
                 tid, arguments);
}

// Nanoseconds since the start; what is earlier counts as the start, so that order and nesting stay.
std::int64_t trace_writer::relative(std::int64_t at) const { return std::max<std::int64_t>(at - start_ns_, 0); }

void trace_writer::append_microseconds(std::int64_t ns) {
  fmt::format_to(std::back_inserter(text_), "{}.{:03}", ns / 1000, ns % 1000);
}

// An arrow needs a slice to stand on: where none is open (the runtime itself sends), a short one.
void trace_writer::write_footing(std::int64_t at, std::int64_t next) {
  constexpr std::int64_t footing_ns = 100;
  covered_until_ = std::min(at + footing_ns, std::max(next, at));
  separate();
  write_head("message", trace_category::comm, at);
  append_duration(at, covered_until_);
  text_ += '}';
}

void trace_writer::write_head(std::string_view name, trace_category category, std::int64_t at) {
  text_ += R"({"name":)";
  append_quoted(text_, name);
  fmt::format_to(std::back_inserter(text_), R"(,"cat":"{}","pid":{},"tid":{},"ts":)", to_string(category), rank_, tid_);
  append_microseconds(at);
}

void trace_writer::append_duration(std::int64_t start, std::int64_t end) {
  text_ += R"(,"ph":"X","dur":)";
  append_microseconds(std::max<std::int64_t>(end - start, 0));
  covered_until_ = std::max(covered_until_, end);
}

void trace_writer::write_record(const trace_track& t, const trace_track::record& r) {
  using kind = trace_track::kind;
  separate();
  write_head(r.name, r.category, relative(r.start));
  switch (r.what) {
    case kind::slice:
      append_duration(relative(r.start), relative(r.end == trace_track::still_open ? t.last_ : r.end));
      break;
    case kind::instant: text_ += R"(,"ph":"i","s":"t")"; break;
    case kind::wait_begin: append_wait('b', r.end); break;
    case kind::wait_end: append_wait('e', r.end); break;
    case kind::counter: append_counter(std::bit_cast<double>(r.end)); break;
    case kind::flow_out:
      fmt::format_to(std::back_inserter(text_), R"(,"ph":"s","id":"{:#x}")", static_cast<std::uint64_t>(r.end));
      break;
    case kind::flow_in:
      fmt::format_to(std::back_inserter(text_), R"(,"ph":"f","bp":"e","id":"{:#x}")",
                     static_cast<std::uint64_t>(r.end));
      break;
  }
  text_ += '}';
}

// One curve for each name and track; what is no number stands as none.
void trace_writer::append_counter(double value) {
  fmt::format_to(std::back_inserter(text_), R"(,"ph":"C","id":"{}","args":{{)", tid_);
  if (std::isfinite(value)) fmt::format_to(std::back_inserter(text_), R"("value":{})", value);
  text_ += '}';
}

void trace_writer::append_wait(char phase, std::int64_t who) {
  fmt::format_to(std::back_inserter(text_), R"(,"ph":"{}","id2":{{"local":"{:#x}"}})", phase,
                 static_cast<std::uint64_t>(who));
}

}  // namespace imbrex
