#include "imbrex/trace/trace.h"

#include <algorithm>

#include "imbrex/trace/trace_writer.h"

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
    case trace_category::task: return "task";
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
  if (max_records_ == 0) return {};
  const std::lock_guard lock(mutex_);
  trace_writer writer(rank_, start_ns_);
  writer.write_process();
  for (std::size_t i = 0; i < tracks_.size(); ++i) writer.write_track(*tracks_[i], i + 1);
  return writer.take();
}

}  // namespace imbrex
