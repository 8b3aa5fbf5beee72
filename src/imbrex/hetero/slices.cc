#include "imbrex/hetero/slices.h"

#include <fmt/format.h>

#include "imbrex/hetero/task_node.h"

namespace imbrex {

namespace {

std::string range_of(const hetero_data& d) {
  const std::uint64_t e = d.element_bytes;
  return fmt::format("[{}, {})", d.offset / e, (d.offset + d.bytes) / e);
}

bool starts_before(const hetero_data* s, std::uint64_t offset) { return s->offset < offset; }

}  // namespace

hetero_data* slice_family::find(std::uint64_t offset, std::uint64_t bytes) const {
  auto at = std::lower_bound(all.begin(), all.end(), offset, starts_before);
  for (; at != all.end() && (*at)->offset == offset; ++at) {
    if ((*at)->bytes == bytes) return *at;
  }
  return nullptr;
}

void slice_family::insert(hetero_data& s) {
  s.family = this;
  largest = std::max(largest, s.bytes);
  all.insert(std::lower_bound(all.begin(), all.end(), s.offset, starts_before), &s);
  s.failure = whole->failure;
  s.defined = whole->defined || std::any_of(defined.begin(), defined.end(), [&](const auto& r) {
                return r.first <= s.offset && s.offset + s.bytes <= r.second;
              });
  s.merged = 0;
  for (int i = 0; i < whole->num_places; ++i) {
    if (whole->at(i).state != coherence::invalid) s.merged |= bit(i);
  }
}

void slice_family::remove(const hetero_data& s) {
  auto at = std::lower_bound(all.begin(), all.end(), s.offset, starts_before);
  while (*at != &s) ++at;
  all.erase(at);
}

// ------------------------------------------------------------------------------------------------ submission

void slice_family::define(hetero_data& d) {
  d.defined = true;
  if (&d != whole && !whole->defined) {
    std::pair<std::uint64_t, std::uint64_t> range{d.offset, d.offset + d.bytes};
    std::erase_if(defined, [&](const auto& r) {
      if (r.second < range.first || r.first > range.second) return false;
      range = {std::min(r.first, range.first), std::max(r.second, range.second)};
      return true;
    });
    defined.push_back(range);
    whole->defined = range.second - range.first == whole->bytes;
    for_each_overlapping_slice(
        *whole, [&](hetero_data& s) { s.defined |= range.first <= s.offset && s.offset + s.bytes <= range.second; });
  }
  if (!whole->defined) return;
  defined.clear();
  for (hetero_data* s : all) s->defined = true;
}

std::string slice_family::conflict(const task_access& a) const {
  const hetero_data& d = *a.data;
  std::string why;
  for (const task_access& b : a.by->uses()) {
    const hetero_data& e = *b.data;
    if (&e == &d || e.family != this || (!writes(a.mode) && !writes(b.mode))) continue;
    if (e.offset >= d.offset + d.bytes || d.offset >= e.offset + e.bytes) continue;
    why = fmt::format("it uses elements {} and {} of one object, which overlap, and writes: use one part for both",
                      range_of(d), range_of(e));
  }
  if (&d == whole) return why;
  for_each_overlapping_slice(d, [&](const hetero_data& e) {
    if (e.handles == 0 || (!writes(a.mode) && !e.written_once)) return;
    why = fmt::format(
        "the slice of elements {} that it {} overlaps the slice {}, which still exists{}: give one up "
        "before, or use the whole object",
        range_of(d), writes(a.mode) ? "writes" : "reads", range_of(e), e.written_once ? " and has been written" : "");
  });
  return why;
}

void slice_family::spread_failure(const hetero_data& d) const {
  if (&d != whole && d.failure == nullptr) return;
  for_each_overlapping_slice(d, [&](hetero_data& s) { s.failure = d.failure; });
}

// ------------------------------------------------------------------------------------------------ coherence

void slice_family::written(hetero_data& d, int place) {
  for_each_overlapping_slice(d, [&](hetero_data& s) {
    for (int i = 0; i < s.num_places; ++i) s.at(i).state = coherence::invalid;
    if (&d == whole) s.merged = bit(place);
  });
  if (&d == whole) return;
  d.merged = 0;
  d.written_as = ++num_writes;
}

void slice_family::carry(int from, int to) {
  for (hetero_data* s : all) s->merged = (s->merged & ~bit(to)) | ((s->merged & bit(from)) != 0 ? bit(to) : 0);
}

void slice_family::forget(int place) {
  for (hetero_data* s : all) s->merged &= ~bit(place);
}

bool slice_family::all_in_slices() const {
  std::uint64_t bytes = 0;
  for (hetero_data* s : all) bytes += s->merged == 0 && has_valid_copy(*s) ? s->bytes : 0;
  return bytes == whole->bytes;
}

bool slice_family::kept_without(int place) const {
  bool base = false;
  for (int i = 0; i < whole->num_places; ++i) base |= i != place && whole->at(i).state != coherence::invalid;
  if (!base) return false;
  return std::none_of(all.begin(), all.end(),
                      [&](hetero_data* s) { return s->merged == bit(place) && !has_valid_copy(*s); });
}

}  // namespace imbrex
