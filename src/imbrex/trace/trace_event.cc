#include "imbrex/trace/trace_event.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"

namespace imbrex {

trace_event::field& trace_event::next(std::string_view name) {
  if (size_ == fields_.size()) fields_.emplace_back();
  field& f = fields_[size_++];
  f.name = name;
  f.is_number = false;
  return f;
}

void trace_event::add_number(std::string_view name, double value) {
  field& f = next(name);
  f.number = value;
  f.is_number = true;
}

const trace_event::field* trace_event::find(std::string_view name, std::size_t index, bool is_number) const {
  for (std::size_t i = 0; i < size_; ++i) {
    const field& f = fields_[i];
    if (f.is_number == is_number && f.name == name && index-- == 0) return &f;
  }
  return nullptr;
}

std::string_view trace_event::text(std::string_view name) const {
  const field* f = find(name, 0, false);
  return f == nullptr ? std::string_view() : f->text;
}

double trace_event::number(std::string_view name, std::size_t index) const {
  const field* f = find(name, index, true);
  return f == nullptr ? 0 : f->number;
}

std::int64_t trace_event::nanoseconds(std::string_view name) const {
  constexpr double longest_us = 9e15;
  const double us = number(name);
  return std::abs(us) < longest_us ? std::llround(us * 1000) : 0;
}

std::uint64_t trace_event::id(std::string_view name) const {
  const std::string_view written = text(name);
  if (written.empty()) return static_cast<std::uint64_t>(std::abs(number(name)));
  const bool hexadecimal = written.starts_with("0x");
  const char* first = written.data() + (hexadecimal ? 2 : 0);
  const char* last = written.data() + written.size();
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(first, last, value, hexadecimal ? 16 : 10);
  return failure == std::errc{} && end == last ? value : hash_bytes(written);
}

namespace {

using nlohmann::json;

/// Follows the parser through {"traceEvents": [event, ...]} or [event, ...].
class event_parser : public json::json_sax_t {
 public:
  explicit event_parser(const std::function<void(const trace_event&)>& take) : take_(take) {}

  bool has_events() const { return has_events_; }
  std::size_t failed_at() const { return failed_at_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(json::number_integer_t n) override { return add(static_cast<double>(n)); }
  bool number_unsigned(json::number_unsigned_t n) override { return add(static_cast<double>(n)); }
  bool number_float(json::number_float_t n, const std::string&) override { return add(n); }
  bool string(std::string& s) override {
    if (in_event()) event_.add_text(name_, s);
    return true;
  }
  bool binary(json::binary_t&) override { return true; }

  bool key(std::string& k) override {
    if (in_event()) {
      name_.resize(prefix_length());
      name_ += k;
    } else if (depth_ == 1) {
      top_key_ = k;
    }
    return true;
  }
  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == event_depth_) {
      event_.clear();
      name_.clear();
      prefixes_.clear();
    } else if (in_event()) {
      name_ += '.';
      prefixes_.push_back(name_.size());
    }
    return true;
  }
  bool end_object() override {
    if (depth_ == event_depth_) {
      take_(event_);
    } else if (in_event()) {
      prefixes_.pop_back();
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    const bool is_list_of_events = depth_ == 1 || (depth_ == 2 && top_key_ == "traceEvents");
    if (event_depth_ == none && is_list_of_events) {
      event_depth_ = depth_ + 1;
      has_events_ = true;
    }
    return true;
  }
  bool end_array() override {
    if (depth_ + 1 == event_depth_) event_depth_ = none;
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    failed_at_ = position;
    return false;
  }

 private:
  static constexpr int none = INT32_MAX;

  bool in_event() const { return depth_ >= event_depth_; }
  std::size_t prefix_length() const { return prefixes_.empty() ? 0 : prefixes_.back(); }
  bool add(double number) {
    if (in_event()) event_.add_number(name_, number);
    return true;
  }

  const std::function<void(const trace_event&)>& take_;
  trace_event event_;
  std::string name_;                   // of the value that comes next
  std::vector<std::size_t> prefixes_;  // how much of it the objects around it make up
  std::string top_key_;
  int depth_ = 0;
  int event_depth_ = none;
  bool has_events_ = false;
  std::size_t failed_at_ = 0;
};

}  // namespace

void for_each_trace_event(std::istream& input, const std::string& name,
                          const std::function<void(const trace_event&)>& take) {
  event_parser parser(take);
  if (!json::sax_parse(input, &parser)) {
    throw config_error(fmt::format("'{}' is no trace: what stands at byte {} is no JSON; was the file cut short?", name,
                                   parser.failed_at()));
  }
  if (!parser.has_events()) {
    throw config_error(
        fmt::format("'{}' is no trace: it has no traceEvents; give a file made by --imbrex-trace", name));
  }
}

}  // namespace imbrex
