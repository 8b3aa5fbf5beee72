#include "imbrex/trace/trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "imbrex/base/error.h"

namespace imbrex {

const char* to_string(trace_category c) {
  switch (c) {
    case trace_category::entry: return "entry";
    case trace_category::wait: return "wait";
    case trace_category::idle: return "idle";
    case trace_category::comm: return "comm";
    case trace_category::kernel: return "kernel";
    case trace_category::copy: return "copy";
    case trace_category::runtime: return "runtime";
    case trace_category::user: return "user";
  }
  return "runtime";
}

bool trace_track::grow() {
  if (num_records_ >= max_records_) {
    ++num_dropped_;
    return false;
  }
  const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(chunk_records, max_records_ - num_records_));
  chunks_.push_back(chunk{std::make_unique<record[]>(n), n});
  next_ = chunks_.back().records.get();
  chunk_end_ = next_ + n;
  return true;
}

/// Turns one rank's tracks into text.
class trace_writer {
 public:
  trace_writer(rank_id rank, std::int64_t start_ns) : rank_(rank), start_ns_(start_ns) {}

  void write_process() {
    metadata("process_name", 0, fmt::format(R"("name":"rank {}")", rank_));
    metadata("process_sort_index", 0, fmt::format(R"("sort_index":{})", rank_));
  }

  void write_track(const trace_track& t, std::size_t tid) {
    tid_ = tid;
    std::string name = R"("name":)";
    append_quoted(name, t.name_);
    metadata("thread_name", tid, name);
    metadata("thread_sort_index", tid, fmt::format(R"("sort_index":{})", t.order_));
    metadata("imbrex_track", tid, totals(t));
    covered_until_ = -1;
    for (std::uint64_t i = 0; i < t.num_records_; ++i) {
      const trace_track::record& r = t.at(i);
      if (is_flow(r) && relative(r.start) >= covered_until_) {
        write_footing(relative(r.start), i + 1 < t.num_records_ ? relative(t.at(i + 1).start) : INT64_MAX);
      }
      write_record(t, r);
    }
  }

  std::string take() { return std::move(text_); }

 private:
  static void append_quoted(std::string& to, std::string_view text) {
    to += '"';
    for (char c : text) {
      if (c == '"' || c == '\\') {
        to += '\\';
        to += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned>(c));
      } else {
        to += c;
      }
    }
    to += '"';
  }

  static std::string totals(const trace_track& t) {
    const auto of = [&t](message_reach reach) {
      const auto i = static_cast<std::size_t>(reach);
      return fmt::format("[{},{}]", t.messages_[i], t.bytes_[i]);
    };
    return fmt::format(R"("kind":"{}","same_pe":{},"other_pe":{},"other_rank":{},"dropped":{})",
                       t.kind_ == track_kind::pe ? "pe" : "stream", of(message_reach::same_pe),
                       of(message_reach::other_pe), of(message_reach::other_rank), t.num_dropped_);
  }

  void separate() {
    if (!text_.empty()) text_ += ",\n";
  }

  void metadata(const char* what, std::size_t tid, const std::string& arguments) {
    separate();
    fmt::format_to(std::back_inserter(text_), R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{{}}}}})", what,
                   rank_, tid, arguments);
  }

  // Nanoseconds since the start; what is earlier counts as the start, so that order and nesting stay.
  std::int64_t relative(std::int64_t at) const { return std::max<std::int64_t>(at - start_ns_, 0); }

  void append_microseconds(std::int64_t ns) {
    fmt::format_to(std::back_inserter(text_), "{}.{:03}", ns / 1000, ns % 1000);
  }

  static bool is_flow(const trace_track::record& r) {
    return r.what == trace_track::kind::flow_out || r.what == trace_track::kind::flow_in;
  }

  // An arrow needs a slice to stand on: where none is open (the runtime itself sends), a short one.
  void write_footing(std::int64_t at, std::int64_t next) {
    constexpr std::int64_t footing_ns = 100;
    covered_until_ = std::min(at + footing_ns, std::max(next, at));
    separate();
    write_head("message", trace_category::comm, at);
    append_duration(at, covered_until_);
    text_ += '}';
  }

  void write_head(std::string_view name, trace_category category, std::int64_t at) {
    text_ += R"({"name":)";
    append_quoted(text_, name);
    fmt::format_to(std::back_inserter(text_), R"(,"cat":"{}","pid":{},"tid":{},"ts":)", to_string(category), rank_,
                   tid_);
    append_microseconds(at);
  }

  void append_duration(std::int64_t start, std::int64_t end) {
    text_ += R"(,"ph":"X","dur":)";
    append_microseconds(std::max<std::int64_t>(end - start, 0));
    covered_until_ = std::max(covered_until_, end);
  }

  void write_record(const trace_track& t, const trace_track::record& r) {
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
  void append_counter(double value) {
    fmt::format_to(std::back_inserter(text_), R"(,"ph":"C","id":"{}","args":{{)", tid_);
    if (std::isfinite(value)) fmt::format_to(std::back_inserter(text_), R"("value":{})", value);
    text_ += '}';
  }

  void append_wait(char phase, std::int64_t who) {
    fmt::format_to(std::back_inserter(text_), R"(,"ph":"{}","id2":{{"local":"{:#x}"}})", phase,
                   static_cast<std::uint64_t>(who));
  }

  rank_id rank_;
  std::int64_t start_ns_;
  std::size_t tid_ = 0;
  std::int64_t covered_until_ = -1;  // the latest end of the slices written of this track
  std::string text_;
};

trace_recorder::trace_recorder(rank_id rank, std::int64_t start_ns, std::uint64_t max_records)
    : rank_(rank), start_ns_(start_ns), max_records_(max_records) {}

trace_track& trace_recorder::add_track(std::string name, int order, track_kind what) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t rank_part = (static_cast<std::uint64_t>(rank_) + 1) << 44;
  const std::uint64_t first_flow = rank_part | (static_cast<std::uint64_t>(tracks_.size()) << 32);
  tracks_.emplace_back(new trace_track(std::move(name), what, order, first_flow, max_records_));
  return *tracks_.back();
}

const char* trace_recorder::intern(const std::string& text) {
  const std::lock_guard lock(mutex_);
  return names_.insert(text).first->c_str();
}

std::string trace_recorder::json_fragment() const {
  const std::lock_guard lock(mutex_);
  trace_writer writer(rank_, start_ns_);
  writer.write_process();
  for (std::size_t i = 0; i < tracks_.size(); ++i) writer.write_track(*tracks_[i], i + 1);
  return writer.take();
}

namespace {

namespace fs = std::filesystem;

std::string cannot_write(const std::string& path, const std::string& why) {
  return fmt::format("the trace file '{}' cannot be written ({}): name a file in a folder that exists and is writable",
                     path, why);
}

// A pipe or device is written to; a plain file is replaced.
bool is_special(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status);
}

// Where the new file grows: beside what a link points to, so that the rename replaces the file and not the link.
struct destination {
  std::string final_name, temporary_name;
  explicit destination(const std::string& path) : final_name(path) {
    std::error_code ignored;
    if (fs::is_symlink(path, ignored)) {
      const fs::path target = fs::weakly_canonical(path, ignored);
      if (!ignored) final_name = target.string();
    }
    temporary_name = is_special(final_name) ? final_name : fmt::format("{}.{}.tmp", final_name, getpid());
  }
  bool in_place() const { return final_name == temporary_name; }
};

bool write_text(std::FILE* file, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size();
}

bool write_events(std::FILE* file, const std::vector<std::string>& fragments) {
  bool good = write_text(file, "{\"traceEvents\":[\n");
  bool first = true;
  for (const std::string& fragment : fragments) {
    if (fragment.empty()) continue;
    good = good && (first || write_text(file, ",\n")) && write_text(file, fragment);
    first = false;
  }
  return good && write_text(file, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"imbrex\"}}\n");
}

}  // namespace

void trace_recorder::write_file(const std::string& path, const std::vector<std::string>& fragments) {
  const destination to(path);
  std::FILE* file = std::fopen(to.temporary_name.c_str(), "w");
  if (file == nullptr) throw error(cannot_write(path, std::strerror(errno)));
  errno = 0;
  bool good = write_events(file, fragments);
  good = std::fclose(file) == 0 && good;
  if (good && !to.in_place()) good = std::rename(to.temporary_name.c_str(), to.final_name.c_str()) == 0;
  if (good) return;
  const std::string why = std::strerror(errno);
  if (!to.in_place()) std::remove(to.temporary_name.c_str());
  throw error(cannot_write(path, why));
}

void trace_recorder::check_writable(const std::string& path) {
  std::error_code ignored;
  if (path.empty()) throw config_error(cannot_write(path, "the name is empty"));
  if (fs::is_directory(path, ignored)) throw config_error(cannot_write(path, "it is a folder"));
  const destination to(path);
  const int flags = to.in_place() ? O_WRONLY | O_NONBLOCK : O_WRONLY | O_CREAT;
  const int descriptor = open(to.temporary_name.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0 && !(to.in_place() && errno == ENXIO)) {
    throw config_error(cannot_write(path, std::strerror(errno)));
  }
  if (descriptor >= 0) close(descriptor);
  if (!to.in_place()) std::remove(to.temporary_name.c_str());
}

}  // namespace imbrex
