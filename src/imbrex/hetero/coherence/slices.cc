#include "imbrex/hetero/coherence/slices.h"

#include <utility>

#include <fmt/format.h>

#include "imbrex/hetero/task_node.h"

namespace imbrex {

namespace {

std::string range_of(const hetero_data& d) {
  const std::uint64_t e = d.element_bytes;
  return fmt::format("[{}, {})", d.offset / e, (d.offset + d.bytes) / e);
}

}  // namespace

/// What the whole's last writer left is what its bytes are worth.
slice_family::slice_family(hetero_data& w) : whole(&w) {
  if (w.failure != nullptr) worthless.set(0, w.bytes, std::exchange(w.failure, nullptr));
}

hetero_data* slice_family::find(std::uint64_t offset, std::uint64_t bytes) const {
  for (auto at = all.lower_bound(offset); at != all.end() && (*at)->offset == offset; ++at) {
    if ((*at)->bytes == bytes) return *at;
  }
  return nullptr;
}

void slice_family::insert(hetero_data& s) {
  s.family = this;
  largest = std::max(largest, s.bytes);
  all.insert(&s);
  s.merged = 0;
  for (int i = 0; i < whole->num_places; ++i) {
    if (whole->at(i).state != coherence::invalid) s.merged |= bit(i);
  }
}

void slice_family::remove(hetero_data& s) {
  all.erase(&s);
  std::erase(dead, &s);
}

// ------------------------------------------------------------------------------------------------ submission

void slice_family::define(hetero_data& d) {
  d.defined = true;
  if (&d != whole && !whole->defined) {
    defined.set(d.offset, d.offset + d.bytes, true);
    whole->defined = defined.covers(0, whole->bytes);
  }
  if (whole->defined) defined.clear();
}

bool slice_family::is_defined(const hetero_data& d) const {
  return d.defined || whole->defined || defined.covers(d.offset, d.offset + d.bytes);
}

std::string slice_family::conflict(const task_access& a) const {
  const hetero_data& d = *a.data;
  std::string why;
  for (const task_access& b : a.by().uses()) {
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

void slice_family::note_written(const hetero_data& d, const std::exception_ptr& failure) {
  const std::uint64_t end = d.offset + d.bytes;
  if (failure != nullptr) {
    worthless.set(d.offset, end, failure);
  } else if (!worthless.empty()) {
    worthless.erase(d.offset, end);
  }
}

std::exception_ptr slice_family::failure_of(const hetero_data& d) const {
  const std::exception_ptr* const failure = worthless.find(d.offset, d.offset + d.bytes);
  return failure != nullptr ? *failure : nullptr;
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
  if (place == 0 && whole->at(0).state != coherence::invalid && whole->num_places > 1) {
    // It lies in the whole's memory; but what is older has to come there first.
    bool comes_last = true;
    for_each_overlapping_slice(d, [&](const hetero_data& e) { comes_last = comes_last && (e.merged & bit(0)) != 0; });
    if (comes_last) d.merged = bit(0);
  }
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
