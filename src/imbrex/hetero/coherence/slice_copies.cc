// Objects with slices: what is brought from the whole to a slice and back.
#include <algorithm>
#include <new>

#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/hetero/coherence/copies.h"

namespace imbrex {

hetero_data* hetero_copies::slice(hetero_data& of, std::uint64_t offset, std::uint64_t bytes,
                                  std::size_t element_bytes) {
  hetero_data& whole = of.family != nullptr ? *of.family->whole : of;
  offset += of.offset;
  if (bytes == whole.bytes) return &whole;
  if (whole.num_places > 64) throw usage_error("slices of objects: only with up to 63 devices");
  if (whole.family == nullptr) {
    whole.family = new slice_family(whole);
    whole.element_bytes = static_cast<std::uint32_t>(element_bytes);
  }
  slice_family& family = *whole.family;
  hetero_data* s = family.find(offset, bytes);
  if (s == nullptr) {
    s = make(*whole.domain, bytes);
    s->offset = offset;
    s->element_bytes = static_cast<std::uint32_t>(element_bytes);
    family.insert(*s);
    ++whole.references;
  } else if (s->references == 0) {
    std::erase(family.dead, s);
    s->written_once = false;
    ++whole.references;
  }
  return s;
}

std::uint64_t hetero_copies::missing_of_sliced(hetero_data& d, const place& p) const {
  const bool here = d.at(p.number()).state != coherence::invalid;
  const std::uint64_t bit = slice_family::bit(p.number());
  if (&d != d.family->whole) return here || (d.merged & bit) != 0 ? 0 : d.bytes;
  if (!here) return d.bytes;
  std::uint64_t bytes = 0;
  for (hetero_data* s : d.family->all) {
    if ((s->merged & bit) == 0 && s->at(p.number()).state == coherence::invalid) bytes += s->bytes;
  }
  return bytes;
}

bool hetero_copies::bring_sliced(task_access& a, place& p) {
  hetero_data& d = *a.data;
  if (places_.size() == 1) return true;
  slice_family& family = *d.family;
  if (&d == family.whole) return !reads(a.mode) || bring_whole(d, p);
  if (reads(a.mode) && d.at(p.number()).state == coherence::invalid && !bring_slice(d, p)) return false;
  if (!writes(a.mode)) return true;
  // A slice that overlaps, and that nobody has any more, may have data outside this one.
  bool only_there = false;
  family.for_each_overlapping_slice(d, [&](hetero_data& s) { only_there |= s.merged == 0 && has_valid_copy(s); });
  return !only_there || save_whole(*family.whole);
}

/// All that the whole is, at a place: its own newest data, and over these what is newer in slices.
bool hetero_copies::bring_whole(hetero_data& whole, place& p) {
  slice_family& family = *whole.family;
  hetero_copy& here = whole.at(p.number());
  if (here.state == coherence::invalid) {
    if (family.all_in_slices() || !has_valid_copy(whole)) {
      if (here.memory == nullptr) here.memory = p.allocate(whole.bytes);
      here.state = coherence::shared;
      family.forget(p.number());
    } else if (!bring_to(whole, p)) {
      return false;
    }
  }
  // Of slices that overlap, what was written last comes last.
  std::vector<hetero_data*> missing;
  for (hetero_data* s : family.all) {
    if ((s->merged & slice_family::bit(p.number())) == 0) missing.push_back(s);
  }
  std::sort(missing.begin(), missing.end(), [](auto* a, auto* b) { return a->written_as < b->written_as; });
  return std::all_of(missing.begin(), missing.end(), [&](hetero_data* s) { return merge(*s, p); });
}

/// What was written to a slice is in the whole's copy at a place.
bool hetero_copies::merge(hetero_data& s, place& p) {
  const std::uint64_t bit = slice_family::bit(p.number());
  if (p.is_host() && s.at(0).state != coherence::invalid) {
    s.merged |= bit;
    return true;
  }
  part_of_copy from = nearest_source(s, p);
  if (from.copy != nullptr && closeness(*places_[from.copy->place], p) == 0) {
    if (!bring_whole(*s.family->whole, host())) return false;
    from = {&s.family->whole->at(0), s.offset};
  }
  if (from.copy != nullptr && !copy_part(s, from, {&s.family->whole->at(p.number()), s.offset})) return false;
  s.merged |= bit;
  return true;
}

bool hetero_copies::bring_slice(hetero_data& s, place& p) {
  if (has_valid_copy(s)) return bring_to(s, p);
  slice_family& family = *s.family;
  hetero_data& whole = *family.whole;
  // A copy of the whole that has everything in this range, the closest one; else one is completed on the host.
  hetero_copy* from = nullptr;
  int best = 0;
  for (int i = 0; i < whole.num_places; ++i) {
    bool complete = whole.at(i).state != coherence::invalid && (s.merged & slice_family::bit(i)) != 0;
    family.for_each_overlapping_slice(
        s, [&](const hetero_data& e) { complete = complete && (e.merged & slice_family::bit(i)) != 0; });
    const int close = closeness(*places_[static_cast<std::size_t>(i)], p);
    if (!complete || close <= best) continue;
    best = close;
    from = &whole.at(i);
  }
  if (from == nullptr) {
    if (!bring_whole(whole, host())) return false;
    from = &whole.at(0);
  }
  hetero_copy& here = s.at(p.number());
  if (p.is_host() && here.memory == nullptr) allocate(here, p);
  if (from->place == 0) {
    hetero_copy& on_host = s.at(0);
    if (on_host.memory == nullptr) allocate(on_host, host());
    on_host.state = coherence::shared;
    return p.is_host() || bring_to_device(s, p);
  }
  if (!copy_part(s, {from, s.offset}, {&here})) return false;
  here.state = coherence::shared;
  return true;
}

/// 0: not without the host; the greater, the better.
int hetero_copies::closeness(const place& from, const place& to) const {
  if (&from == &to) return 3;
  if (from.is_host() || to.is_host()) return 1;
  return from.kind() == to.kind() && (from.kind() == device_kind::host || to.on().reaches(from.on())) ? 2 : 0;
}

/// Where what was written to a slice can be had; without a copy when nobody has written it.
hetero_copies::part_of_copy hetero_copies::nearest_source(hetero_data& s, const place& p) const {
  part_of_copy best;
  int best_closeness = -1;
  for (int i = 0; i < s.num_places; ++i) {
    const int close = closeness(*places_[static_cast<std::size_t>(i)], p);
    if (close <= best_closeness) continue;
    if (s.at(i).state != coherence::invalid) {
      best = {&s.at(i), 0};
    } else if ((s.merged & slice_family::bit(i)) != 0) {
      best = {&s.family->whole->at(i), s.offset};
    } else {
      continue;
    }
    best_closeness = close;
  }
  return best;
}

/// Bytes `[d.offset, d.offset + d.bytes)` of the whole, which begin at `from` and `to`; never within the host.
bool hetero_copies::copy_part(hetero_data& d, const part_of_copy& from, const part_of_copy& to) {
  place& source = *places_[from.copy->place];
  place& target = *places_[to.copy->place];
  lane& l = target.is_host() ? source.out() : target.in_from(source);
  if (!follow(l, d, *from.copy, *to.copy)) return false;
  if (target.is_host()) {
    copy_gaps(l, d, from, to);
    return true;
  }
  const bool between = !source.is_host() && &source != &target;
  copy_bytes(l, from, to, d.bytes, between);
  if (&source != &target) (between ? counts_.bytes_between : counts_.bytes_to_devices) += d.bytes;
  return true;
}

/// To the host, where slices lie in the whole's memory: what these have there is as new, and a task may be reading or
/// writing it, so only what is between them is copied.
void hetero_copies::copy_gaps(lane& l, hetero_data& d, const part_of_copy& from, const part_of_copy& to) {
  std::uint64_t at = d.offset;
  const std::uint64_t end = d.offset + d.bytes;
  const auto copy_up_to = [&](std::uint64_t next) {
    if (next <= at) return;
    const std::uint64_t skipped = at - d.offset;
    copy_bytes(l, {from.copy, from.offset + skipped}, {to.copy, to.offset + skipped}, next - at, false);
    counts_.bytes_to_host += next - at;
  };
  d.family->for_each_overlapping_slice(d, [&](hetero_data& s) {
    if (s.at(0).state == coherence::invalid) return;
    copy_up_to(std::min(s.offset, end));
    at = std::max(at, s.offset + s.bytes);
  });
  copy_up_to(end);
}

// ------------------------------------------------------------------------------------------------ their end

void hetero_copies::bury_dead(slice_family& f) {
  for (std::size_t i = f.dead.size(); i-- > 0;) bury(*f.dead[i]);
}

/// A slice that nobody has any more goes when the whole has its data, or nobody ever wrote them: wherever the whole has
/// a copy without them, that copy goes, too.
bool hetero_copies::bury(hetero_data& s) {
  slice_family& family = *s.family;
  hetero_data& whole = *family.whole;
  if (places_.size() == 1) {
    family.remove(s);
    destroy(&s);
    return true;
  }
  if (s.merged == 0 && has_valid_copy(s)) return false;
  std::uint64_t lost = 0;
  for (int i = 0; i < whole.num_places; ++i) {
    const hetero_copy& c = whole.at(i);
    if (c.state == coherence::invalid || (s.merged & slice_family::bit(i)) != 0) continue;
    if (c.pins > 0 || !family.kept_without(i)) return false;
    lost |= slice_family::bit(i);
  }
  for (int i = 0; i < whole.num_places; ++i) {
    if ((lost & slice_family::bit(i)) == 0) continue;
    if (!family.kept_without(i)) return false;
    whole.at(i).state = coherence::invalid;
    family.forget(i);
  }
  family.remove(s);
  destroy(&s);
  return true;
}

}  // namespace imbrex
