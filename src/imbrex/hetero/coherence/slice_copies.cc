// Objects with slices: what is brought from one copy to another.
#include <algorithm>
#include <array>
#include <new>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/hetero/coherence/copies.h"

namespace imbrex {

namespace {

slice_family& family_of(hetero_data& whole, std::uint64_t row_bytes, std::uint64_t num_rows,
                        std::size_t element_bytes) {
  if (whole.family == nullptr) {
    new slice_family(whole, row_bytes, num_rows);  // the whole's own
    whole.element_bytes = static_cast<std::uint32_t>(element_bytes);
  }
  return *whole.family;
}

/// Bytes of the whole as a box: some of one row, rows of one plane, or planes.
box box_of(const slice_family& f, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t row = f.row_bytes, plane = row * f.num_rows;
  const std::uint64_t x = offset % row, y = offset % plane / row, z = offset / plane;
  if (x + bytes <= row) return {{x, y, z}, {x + bytes, y + 1, z + 1}};
  if (x == 0 && bytes % row == 0 && y + bytes / row <= f.num_rows) return {{0, y, z}, {row, y + bytes / row, z + 1}};
  if (x == 0 && y == 0 && bytes % plane == 0) return {{0, 0, z}, {row, f.num_rows, z + bytes / plane}};
  const std::uint64_t e = f.whole->element_bytes;
  throw usage_error(
      fmt::format("a slice from element {}, of {}, of a grid with rows of {} elements and planes of {} rows: "
                  "it is no box of it",
                  offset / e, bytes / e, row / e, f.num_rows));
}

}  // namespace

hetero_data* hetero_copies::slice(hetero_data& of, std::uint64_t offset, std::uint64_t bytes,
                                  std::size_t element_bytes) {
  hetero_data& whole = of.family != nullptr ? *of.family->whole : of;
  if (offset == 0 && bytes == of.bytes) return &of;
  slice_family& f = family_of(whole, whole.bytes, 1, element_bytes);
  if (&of != &whole && f.row_bytes != whole.bytes) {
    throw usage_error("a slice of a tile of a grid: take a tile of it");
  }
  return part(f, box_of(f, of.offset + offset, bytes));
}

hetero_data* hetero_copies::tile(hetero_data& of, box where, std::uint64_t row_bytes, std::uint64_t num_rows,
                                 std::size_t element_bytes) {
  hetero_data& whole = of.family != nullptr ? *of.family->whole : of;
  slice_family& f = family_of(whole, row_bytes, num_rows, element_bytes);
  if (f.row_bytes != row_bytes || f.num_rows != num_rows) {
    throw usage_error(
        "a tile of an object of which slices were taken that knew nothing of its shape: take them from "
        "the grid");
  }
  for (std::size_t i = 0; i < 3; ++i) {
    where.begin[i] += of.member->where.begin[i];
    where.end[i] += of.member->where.begin[i];
  }
  return part(f, where);
}

hetero_data* hetero_copies::part(slice_family& f, const box& where) {
  hetero_data& whole = *f.whole;
  if (where == whole.member->where) return &whole;
  hetero_data* s = f.find(where);
  if (s == nullptr) {
    s = make(*whole.domain, where.bytes());
    s->element_bytes = whole.element_bytes;
    f.insert(*s, where);
    ++whole.references;
  } else if (s->references == 0) {
    std::erase(f.dead, s);
    ++whole.references;
  }
  return s;
}

/// From where it is nearest. What this place cannot be given by another device comes by way of the host.
bool hetero_copies::bring_member(hetero_data& d, place& p) {
  slice_family& family = *d.family;
  region missing = family.missing(d, p.number());
  for (int close = 3; close > 0 && !missing.empty(); --close) {
    for (const auto& q : places_) {
      if (closeness(*q, p) != close) continue;
      if (!take_from(d, *q, d, p, missing)) return false;
      if (q->is_host()) continue;
      bool can = true;
      family.for_each_overlapping(d, [&](hetero_data& e) { can = can && take_from(e, *q, d, p, missing); });
      if (!can) return false;
    }
  }
  if (missing.empty()) return true;
  if (p.is_host()) return true;  // nobody has ever written: whoever reads that was told so
  const region before = missing;
  if (!bring_to_host(d, before)) return false;
  return take_from(d, host(), d, p, missing);
}

/// Those of the missing bytes that a member's copy has. Not within the host.
bool hetero_copies::take_from(hetero_data& source, const place& from, hetero_data& d, place& p, region& missing) {
  slice_family& family = *d.family;
  if ((&source == &d && from.number() == p.number()) || (from.is_host() && p.is_host()) || missing.empty()) return true;
  const region there = family.fresh(source, from.number()).in(missing);
  bool can = true;
  there.for_each([&](const box& piece) {
    can = can && copy_piece(piece, source, from, d, p);
    if (!can) return;
    missing.subtract(piece);
    family.came(d, p.number(), piece);
  });
  return can;
}

/// From devices that can be reached by the host only.
bool hetero_copies::bring_to_host(hetero_data& d, const region& bytes) {
  region missing = bytes;
  missing.subtract(d.family->on_host);
  bool can = true;
  for (const auto& q : places_) {
    if (q->is_host()) continue;
    can = can && take_from(d, *q, d, host(), missing);
    d.family->for_each_overlapping(d, [&](hetero_data& e) { can = can && take_from(e, *q, d, host(), missing); });
  }
  return can;
}

/// 0: not without the host; the greater, the better.
int hetero_copies::closeness(const place& from, const place& to) const {
  if (&from == &to) return 3;
  if (from.is_host() || to.is_host()) return 1;
  return from.kind() == to.kind() && (from.kind() == device_kind::host || to.on().reaches(from.on())) ? 2 : 0;
}

namespace {

enum class way { plain, pinned, between };

/// A member's memory: on the host, and of the whole, it has the whole's rows and planes.
struct layout {
  layout(const slice_family& f, const hetero_copy& c)
      : memory(c.memory), where(c.of->member->where), row(f.row_bytes), plane(f.row_bytes * f.num_rows) {
    if (c.place == 0 || c.of == f.whole) return;
    row = where.extent(0);
    plane = row * where.extent(1);
  }
  std::byte* at(const std::array<std::uint64_t, 3>& p) const {
    return memory + (p[0] - where.begin[0]) + row * (p[1] - where.begin[1]) + plane * (p[2] - where.begin[2]);
  }
  std::byte* memory;
  const box& where;
  std::uint64_t row, plane;
};

/// As few copies as there can be.
void copy_box(lane& l, const box& piece, const layout& from, const layout& to, way how) {
  const std::uint64_t width = piece.extent(0);
  const bool whole_rows = piece.extent(1) == 1 || (from.row == width && to.row == width);
  const std::uint64_t plane = width * piece.extent(1);
  const bool whole_planes = whole_rows && (piece.extent(2) == 1 || (from.plane == plane && to.plane == plane));
  const auto copy = [&](std::byte* there, const std::byte* here, std::uint64_t bytes) {
    switch (how) {
      case way::between: return l->pull(event(), there, here, bytes);
      case way::pinned: return l->transfer(there, here, bytes);
      case way::plain: return l->copy(there, here, bytes);
    }
  };
  if (whole_planes) return copy(to.at(piece.begin), from.at(piece.begin), piece.bytes());
  for (std::uint64_t z = piece.begin[2]; z < piece.end[2]; ++z) {
    const std::array<std::uint64_t, 3> first{piece.begin[0], piece.begin[1], z};
    if (whole_rows) {
      copy(to.at(first), from.at(first), plane);
    } else {
      l->copy_rows(to.at(first), to.row, from.at(first), from.row, width, piece.extent(1));
    }
  }
}

}  // namespace

/// Bytes that both have; never within the host.
bool hetero_copies::copy_piece(const box& piece, hetero_data& source, const place& from, hetero_data& target,
                               const place& to) {
  slice_family& family = *target.family;
  place& source_place = *places_[static_cast<std::size_t>(from.number())];
  place& target_place = *places_[static_cast<std::size_t>(to.number())];
  // On the host a slice's own copy stands for its part of the whole's: that is less to wait for.
  hetero_data& on_host = contains(source.member->where, piece) && &source != family.whole ? source : target;
  hetero_copy& out_of = source_place.is_host() ? target.at(0) : source.at(from.number());
  hetero_copy& into = target_place.is_host() ? on_host.at(0) : target.at(to.number());
  if (into.memory == nullptr && !allocate(into, target_place)) return false;
  if (out_of.memory == nullptr && !allocate(out_of, source_place)) return false;
  lane& l = target_place.is_host() ? source_place.out() : target_place.in_from(source_place);
  if (!follow(l, target_place.is_host() ? on_host : target, out_of, into)) return false;
  const bool between = !source_place.is_host() && !target_place.is_host() && from.number() != to.number();
  const bool pinned = !between && from.number() != to.number() && host().on().kind() == l->on().kind();
  const std::uint64_t bytes = piece.bytes();
  copy_box(l, piece, {family, out_of}, {family, into}, between ? way::between : pinned ? way::pinned : way::plain);
  note_copied(l, out_of, into, bytes, between);
  return true;
}

bool hetero_copies::save(hetero_copy& c) {
  hetero_data& d = *c.of;
  region missing = d.family->only_in(d, c.place);
  return missing.empty() || take_from(d, *places_[c.place], d, host(), missing);
}

// ------------------------------------------------------------------------------------------------ their end

void hetero_copies::bury_dead(slice_family& f) {
  for (std::size_t i = f.dead.size(); i-- > 0;) bury(*f.dead[i]);
}

/// A slice that nobody has any more goes when others have its newest bytes, or nobody ever wrote them; not while its
/// part of the host's memory is being written, since who reads that waits for it by this slice.
bool hetero_copies::bury(hetero_data& s) {
  slice_family& family = *s.family;
  if (!s.at(0).written.reached()) return false;
  if (!family.only_in(s).empty()) return false;
  family.remove(s);
  destroy(&s);
  return true;
}

}  // namespace imbrex
