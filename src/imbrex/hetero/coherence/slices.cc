#include "imbrex/hetero/coherence/slices.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "imbrex/hetero/task_node.h"

namespace imbrex {

namespace {

std::string range_of(const hetero_data& d) {
  const box& b = d.member->where;
  const std::uint64_t e = d.element_bytes;
  std::string text = fmt::format("[{}, {})", b.begin[0] / e, b.end[0] / e);
  for (std::size_t axis = 1; axis < 3; ++axis) {
    const std::uint64_t whole = d.family->whole->member->where.extent(axis);
    if (whole > 1) text += fmt::format(" x [{}, {})", b.begin[axis], b.end[axis]);
  }
  return text;
}

}  // namespace

/// What the whole's last writer left is what its bytes are worth; its newest copies have all of it.
slice_family::slice_family(hetero_data& w, std::uint64_t row, std::uint64_t rows)
    : whole(&w), row_bytes(row), num_rows(rows) {
  w.family = this;
  const box all_of_it{{0, 0, 0}, {row, rows, row * rows > 0 ? w.bytes / (row * rows) : 0}};
  w.member = new family_member{all_of_it, std::vector<region>(w.num_places), {}};
  if (w.failure != nullptr) worthless.set(all_of_it, std::exchange(w.failure, nullptr));
  for (int i = 0; i < w.num_places; ++i) {
    if (w.at(i).state != coherence::invalid) fresh(w, i).add(all_of_it);
  }
}

slice_family::~slice_family() {
  delete std::exchange(whole->member, nullptr);
  whole->family = nullptr;
}

hetero_data* slice_family::find(const box& where) const {
  const std::uint64_t offset = offset_of(where.begin);
  for (auto at = all.lower_bound(offset); at != all.end() && (*at)->offset == offset; ++at) {
    if ((*at)->member->where == where) return *at;
  }
  return nullptr;
}

void slice_family::insert(hetero_data& s, const box& where) {
  s.family = this;
  s.offset = offset_of(where.begin);
  s.member = new family_member{where, std::vector<region>(s.num_places), {}};
  const std::uint64_t end = offset_of({where.end[0] - 1, where.end[1] - 1, where.end[2] - 1}) + 1;
  auto at = s.offset > longest ? all.lower_bound(s.offset - longest) : all.begin();
  for (; at != all.end() && (*at)->offset < end; ++at) {
    if (!overlap((*at)->member->where, where)) continue;
    s.member->overlapping.push_back(*at);
    (*at)->member->overlapping.push_back(&s);
  }
  longest = std::max(longest, end - s.offset);
  all.insert(&s);
}

void slice_family::remove(hetero_data& s) {
  for (hetero_data* e : s.member->overlapping) std::erase(e->member->overlapping, &s);
  all.erase(&s);
  std::erase(dead, &s);
}

// ------------------------------------------------------------------------------------------------ submission

void slice_family::define(hetero_data& d) {
  d.defined = true;
  if (&d != whole && !whole->defined) {
    defined.add(d.member->where);
    whole->defined = defined.covers(whole->member->where);
  }
  if (whole->defined) defined.clear();
}

bool slice_family::is_defined(const hetero_data& d) const {
  return d.defined || whole->defined || defined.covers(d.member->where);
}

std::string slice_family::conflict(const task_access& a) const {
  const hetero_data& d = *a.data;
  for (const task_access& b : a.by().uses()) {
    const hetero_data& e = *b.data;
    if (&e == &d || e.family != this || (!writes(a.mode) && !writes(b.mode))) continue;
    if (!overlap(d.member->where, e.member->where)) continue;
    return fmt::format("it uses elements {} and {} of one object, which overlap, and writes: use one part for both",
                       range_of(d), range_of(e));
  }
  return {};
}

void slice_family::note_written(const hetero_data& d, const std::exception_ptr& failure) {
  if (failure != nullptr) {
    worthless.set(d.member->where, failure);
  } else if (!worthless.empty()) {
    worthless.erase(d.member->where);
  }
}

std::exception_ptr slice_family::failure_of(const hetero_data& d) const {
  const std::exception_ptr* const failure = worthless.find(d.member->where);
  return failure != nullptr ? *failure : nullptr;
}

// ------------------------------------------------------------------------------------------------ coherence

region slice_family::missing(const hetero_data& d, int place) const {
  region left(d.member->where);
  fresh(d, place).for_each_in(d.member->where, [&](const box& b) { left.subtract(b); });
  return left;
}

region slice_family::only_in(const hetero_data& d, int place) const {
  region left = fresh(d, place);
  left.subtract(on_host);
  for (int i = 1; i < d.num_places && !left.empty(); ++i) {
    if (i != place) left.subtract(fresh(d, i));
  }
  subtract_others(left, d);
  return left;
}

region slice_family::only_in(const hetero_data& d) const {
  region left;
  for (int i = 1; i < d.num_places; ++i) fresh(d, i).for_each([&](const box& b) { left.add(b); });
  left.subtract(on_host);
  subtract_others(left, d);
  return left;
}

/// What other members have at devices.
void slice_family::subtract_others(region& from, const hetero_data& d) const {
  if (from.empty()) return;
  for_each_overlapping(d, [&](const hetero_data& e) {
    for (int i = 1; i < e.num_places; ++i) from.subtract(fresh(e, i));
  });
}

void slice_family::written(hetero_data& d, int place) {
  const box& where = d.member->where;
  const auto make_stale = [&](hetero_data& e) {
    for (int i = 1; i < e.num_places; ++i) {
      if (e.at(i).state == coherence::invalid) continue;
      region& left = fresh(e, i);
      left.subtract(where);
      if (left.empty()) e.at(i).state = coherence::invalid;
    }
  };
  make_stale(d);
  for_each_overlapping(d, make_stale);
  if (place != 0) on_host.subtract(where);
  if (whole->num_places > 1) came(d, place, where);
}

void slice_family::came(hetero_data& d, int place, const box& bytes) {
  fresh(d, place).add(bytes);
  d.at(place).state = coherence::shared;
}

coherence slice_family::state(const hetero_data& d, int place) const {
  if (d.num_places == 1) return is_defined(d) ? coherence::exclusive : coherence::invalid;
  if (!fresh(d, place).covers(d.member->where)) return coherence::invalid;
  for (int i = 0; i < d.num_places; ++i) {
    if (i != place && missing(d, i).empty()) return coherence::shared;
  }
  return coherence::exclusive;
}

}  // namespace imbrex
