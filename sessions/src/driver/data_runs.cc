#include "driver/data_runs.h"

#include <algorithm>

namespace imbrex::sessions {

namespace {

std::int64_t signed_of(std::size_t n) { return static_cast<std::int64_t>(n); }

/// Forward, and pieces that touch each other as one.
data_run in_normal_form(data_run r) {
  if (r.pieces == 1) r.stride = 0;
  if (r.stride < 0) {
    r.offset += signed_of(r.pieces - 1) * r.stride;
    r.stride = -r.stride;
  }
  if (r.stride <= signed_of(r.bytes)) r = {r.offset, r.span(), 1, 0};
  return r;
}

}  // namespace

/// Whether `r` goes on where the last run ends.
bool data_runs::join_last(const data_run& r) {
  if (runs_.empty()) return false;
  data_run& last = runs_.back();
  const std::int64_t distance = r.offset - last.offset;
  if (last.pieces == 1 && r.pieces == 1 && distance == signed_of(last.bytes)) {
    data_run longer = last;
    longer.bytes += r.bytes;
    runs_.pop_back();
    add(longer);
    return true;
  }
  if (last.bytes != r.bytes || distance <= signed_of(r.bytes)) return false;
  const std::int64_t stride = last.pieces > 1 ? last.stride : r.pieces > 1 ? r.stride : distance;
  if ((r.pieces > 1 && r.stride != stride) || distance != signed_of(last.pieces) * stride) return false;
  last.stride = stride;
  last.pieces += r.pieces;
  return true;
}

void data_runs::add(data_run r) {
  if (r.bytes == 0 || r.pieces == 0) return;
  r = in_normal_form(r);
  if (!join_last(r)) runs_.push_back(r);
}

void data_runs::add_run_repeated(const data_run& r, std::int64_t count, std::int64_t stride) {
  const auto times = static_cast<std::size_t>(count);
  if (r.pieces == 1) return add({r.offset, r.bytes, times, stride});
  // Columns side by side are one, of longer pieces; rows of pieces that go on are one, of more pieces.
  if (stride <= signed_of(r.bytes)) {
    return add({r.offset, r.bytes + static_cast<std::size_t>((count - 1) * stride), r.pieces, r.stride});
  }
  if (stride == signed_of(r.pieces) * r.stride) return add({r.offset, r.bytes, r.pieces * times, r.stride});
  if (times < r.pieces) {
    for (std::int64_t i = 0; i < count; ++i) add({r.offset + i * stride, r.bytes, r.pieces, r.stride});
    return;
  }
  for (std::size_t i = 0; i < r.pieces; ++i) add({r.offset + signed_of(i) * r.stride, r.bytes, times, stride});
}

void data_runs::add_repeated(const data_runs& one, std::int64_t offset, std::int64_t count, std::int64_t stride) {
  if (count <= 0) return;
  if (stride < 0) {
    offset += (count - 1) * stride;
    stride = -stride;
  }
  for (data_run r : one.runs_) {
    r.offset += offset;
    add_run_repeated(r, count, stride);
  }
}

void data_runs::tidy() {
  std::vector<data_run> untidy;
  untidy.swap(runs_);
  std::sort(untidy.begin(), untidy.end(), [](const data_run& a, const data_run& b) { return a.offset < b.offset; });
  for (const data_run& r : untidy) add(r);
}

}  // namespace imbrex::sessions
