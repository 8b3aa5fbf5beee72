#include "imbrex/hetero/coherence/copies.h"

#include <algorithm>
#include <new>

#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/hetero/open_reduction.h"

namespace imbrex {

hetero_copies::hetero_copies(device& host, const std::vector<device*>& devices, const hetero_options& options,
                             void (*on_progress)(void*), void* argument) {
  // A GPU copies fastest from memory that it has pinned.
  device* pins = &host;
  for (device* d : devices) {
    if (d->kind() == device_kind::cuda && options.pinned_host_copies) pins = d;
  }
  places_.push_back(std::make_unique<place>(*pins, options));
  int lanes = 0;
  for (device* d : devices) {
    const std::uint64_t capacity = options.device_bytes > 0
                                       ? options.device_bytes
                                       : d->memory().free / 10 * 9 / static_cast<unsigned>(options.sharing);
    places_.push_back(
        std::make_unique<place>(static_cast<int>(places_.size()), *d, capacity, options, devices.size() > 1, lanes));
    lanes += place::max_lanes(options);
    places_.back()->on_progress(on_progress, argument);
  }
  retiring_.resize(places_.size());
  find_out_what_reaches();
}

hetero_data* hetero_copies::make(hetero_domain& domain, std::uint64_t bytes) {
  const std::size_t n = places_.size();
  auto* d = new (slab::allocate(sizeof(hetero_data) + n * sizeof(hetero_copy))) hetero_data;
  d->domain = &domain;
  d->bytes = bytes;
  d->num_places = static_cast<std::uint16_t>(n);
  num_objects_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < n; ++i) {
    auto* c = new (d->copies() + i) hetero_copy;
    c->of = d;
    c->place = static_cast<std::uint16_t>(i);
  }
  return d;
}

hetero_data* hetero_copies::make_over(hetero_domain& domain, std::byte* memory, std::uint64_t bytes) {
  hetero_data* const d = make(domain, bytes);
  d->borrowed = true;
  d->defined = true;
  d->at(0).memory = memory;
  d->at(0).state = coherence::exclusive;
  return d;
}

void hetero_copies::release(hetero_data* d) {
  if (--d->references > 0) return;
  slice_family* const family = d->family;
  if (family == nullptr) return destroy(d);
  if (d == family->whole) {
    for (hetero_data* s : family->all) destroy(s);
    delete family;
    return destroy(d);
  }
  family->dead.push_back(d);
  bury(*d);
  release(family->whole);
}

void hetero_copies::destroy(hetero_data* d) {
  if (d->stands_for != nullptr) {
    --d->stands_for->handles;
    release(d->stands_for);
  }
  for (int i = 0; i < d->num_places; ++i) {
    if (d->at(i).memory != nullptr) drop(d->at(i));
    d->at(i).~hetero_copy();
  }
  if (d->commuting != nullptr) slab::free(d->commuting);
  delete d->reducing;
  delete d->member;
  d->~hetero_data();
  slab::free(d);
  num_objects_.fetch_sub(1, std::memory_order_relaxed);
}

// ------------------------------------------------------------------------------------------------ moving

/// The lane waits for all that a copy of the bytes of `d` has to wait for. If it cannot, who will is noted.
bool hetero_copies::follow(lane& l, hetero_data& d, hetero_copy& from, hetero_copy& to) {
  const auto for_each_point = [&](auto f) {
    for_each_in_same_memory(d, from, [&](hetero_copy& c) { f(c.written); });
    for_each_in_same_memory(d, to, [&](hetero_copy& c) {
      f(c.written);
      c.reads.for_each(f);
    });
  };
  bool can = true;
  for_each_point([&](const lane_point& p) {
    if (p.reached() || l.can_wait_for(*p.of)) return;
    pending_.push_back(p);
    can = false;
  });
  if (can) for_each_point([&](const lane_point& p) { l.wait(p); });
  return can;
}

/// The lane follows both.
void hetero_copies::copy(lane& l, hetero_copy& from, hetero_copy& to, bool between_devices) {
  const std::uint64_t bytes = to.of->bytes;
  if (between_devices) {
    l->pull(event(), to.memory, from.memory, bytes);
  } else if (host().on().kind() == l->on().kind()) {  // which has pinned it
    l->transfer(to.memory, from.memory, bytes);
  } else {
    l->copy(to.memory, from.memory, bytes);
  }
  note_copied(l, from, to, bytes, between_devices);
  from.state = coherence::shared;
  to.state = coherence::shared;
}

/// The lane has been given what copies so many bytes.
void hetero_copies::note_copied(lane& l, hetero_copy& from, hetero_copy& to, std::uint64_t bytes,
                                bool between_devices) {
  const lane_point end = l.put();
  from.reads.add(end);
  to.reads.clear();
  to.written = end;
  if (from.place == to.place) return;
  if (to.place != 0) {
    place& at = *places_[to.place];
    if (at.has_transfer_lanes()) at.link_from(*places_[from.place]).given(end, bytes);
  }
  (to.place == 0 ? counts_.bytes_to_host : between_devices ? counts_.bytes_between : counts_.bytes_to_devices) += bytes;
}

void hetero_copies::find_out_what_reaches() {
  for (const auto& p : places_) {
    for (const auto& q : places_) {
      const bool are_alike = p != q && !p->is_host() && !q->is_host() && p->kind() == q->kind();
      reaches_.push_back(are_alike && (q->kind() == device_kind::host || p->on().reaches(q->on())));
    }
  }
}

missing_data hetero_copies::missing(hetero_data& d, const place& p) const {
  std::uint64_t bytes = 0;
  if (d.family != nullptr) [[unlikely]] {
    bytes = places_.size() == 1 ? 0 : d.family->missing(d, p.number()).bytes();
  } else if (d.at(p.number()).state == coherence::invalid) {
    bytes = d.bytes;
  }
  if (bytes == 0) return {};
  for (const auto& q : places_) {
    if (!reads_from(p, *q)) continue;
    const bool has_some = d.family != nullptr ? d.family->missing(d, q->number()).bytes() < bytes
                                              : d.at(q->number()).state != coherence::invalid;
    if (has_some) return {.from_devices = bytes};
  }
  return {.from_host = bytes};
}

/// At another device that `p` can read.
hetero_copy* hetero_copies::newest_device_copy(hetero_data& d, const place& p) const {
  for (std::size_t i = 1; i < places_.size(); ++i) {
    hetero_copy& c = d.at(static_cast<int>(i));
    place& q = *places_[i];
    if (c.state != coherence::invalid && reads_from(p, q)) return &c;
  }
  return nullptr;
}

bool hetero_copies::bring_to_device(hetero_data& d, place& p) {
  hetero_copy& here = d.at(p.number());
  if (hetero_copy* peer = newest_device_copy(d, p); peer != nullptr) {
    if (!follow(p.from_peers(), d, *peer, here)) return false;
    copy(p.from_peers(), *peer, here, true);
    return true;
  }
  if (d.at(0).state == coherence::invalid && !bring_to_host(d)) return false;
  if (!follow(p.in(), d, d.at(0), here)) return false;
  copy(p.in(), d.at(0), here, false);
  return true;
}

bool hetero_copies::bring_to_host(hetero_data& d) {
  hetero_copy& here = d.at(0);
  if (here.memory == nullptr) allocate(here, host());
  for (std::size_t i = 1; i < places_.size(); ++i) {
    hetero_copy& there = d.at(static_cast<int>(i));
    if (there.state == coherence::invalid) continue;
    lane& out = places_[i]->out();
    if (!follow(out, d, there, here)) return false;
    copy(out, there, here, false);
    return true;
  }
  return true;  // nobody has ever written: whoever reads that was told so
}

hetero_copies::outcome hetero_copies::bring(task_node& t) {
  pending_.clear();
  for (task_access& a : t.uses()) {
    place& p = t.place_of(a);
    if (a.data->family != nullptr) [[unlikely]] {
      if (reads(a.mode) && places_.size() > 1) bring_member(*a.data, p);
    } else if (reads(a.mode) && a.data->at(p.number()).state == coherence::invalid) {
      bring_to(*a.data, p);
    }
  }
  return pending_.empty() ? outcome::done : outcome::later;
}

// ------------------------------------------------------------------------------------------------ using

hetero_copy& hetero_copies::copy_of(task_node& t, const task_access& a) { return a.data->at(t.place_of(a).number()); }

void hetero_copies::order(task_node& t, lane& l) {
  for (task_access& a : t.uses()) {
    hetero_copy& c = copy_of(t, a);
    l.wait(c.written);
    if (writes(a.mode)) c.reads.for_each([&](const lane_point& q) { l.wait(q); });
  }
}

void hetero_copies::begun(task_node& t) {
  for (task_access& a : t.uses()) {
    if (a.mode == access_mode::write) own(*a.data, t.place_of(a));
  }
}

/// The only copy that is worth something is here, or will be.
void hetero_copies::own(hetero_data& d, const place& p) {
  if (d.family != nullptr) [[unlikely]]
    return d.family->written(d, p.number());
  for (int i = 0; i < d.num_places; ++i) d.at(i).state = coherence::invalid;
  d.at(p.number()).state = coherence::exclusive;
}

void hetero_copies::used(task_node& t, const lane_point& end) {
  bool sliced = false;
  for (task_access& a : t.uses()) {
    hetero_copy& c = copy_of(t, a);
    if (!writes(a.mode)) c.reads.add(end);
    if (c.place != 0 && c.memory != nullptr) touch(c);
    sliced |= a.data->family != nullptr;
  }
  for (task_access& a : t.uses()) {
    if (!writes(a.mode)) continue;
    own(*a.data, t.place_of(a));
    hetero_copy& c = copy_of(t, a);
    c.written = end;
    c.reads.clear();
  }
  if (!sliced) [[likely]]
    return;
  for (task_access& a : t.uses()) {
    if (a.data->family != nullptr && !a.data->family->dead.empty()) bury_dead(*a.data->family);
  }
}

// ------------------------------------------------------------------------------------------------ room

hetero_copies::outcome hetero_copies::pin(task_node& t, place& p) {
  t.at = &p;
  t.pinned = true;
  for (task_access& a : t.uses()) ++copy_of(t, a).pins;
  full_ = nullptr;
  if (!t.is_spread) [[likely]] {
    if (!take_room(t, p)) full_ = &p;
  } else {
    for (const auto& q : places_) {
      if (full_ == nullptr && !take_room(t, *q)) full_ = q.get();
    }
  }
  if (full_ == nullptr) return outcome::done;
  unpin(t);
  if (!pending_.empty()) return outcome::no_room;  // what could go, could not yet be saved
  for (const hetero_copy* c = full_->oldest; c != nullptr; c = c->newer) {
    if (c->pins > 0) return outcome::no_room;
  }
  return full_->idle() && retiring_[static_cast<std::size_t>(full_->number())] == 0 ? outcome::never : outcome::no_room;
}

/// Memory for what the task uses there.
bool hetero_copies::take_room(task_node& t, place& p) {
  const auto lacks = [&](const task_access& a) { return &t.place_of(a) == &p && copy_of(t, a).memory == nullptr; };
  std::uint64_t bytes = 0;
  for (task_access& a : t.uses()) {
    if (!lacks(a)) continue;
    const bool counted =
        std::any_of(t.accesses, &a, [&](const task_access& b) { return b.data == a.data && &t.place_of(b) == &p; });
    if (!counted) bytes += a.data->bytes;
  }
  if (bytes == 0) return true;
  pending_.clear();
  bool there = p.is_host() || make_room(p, bytes);
  for (task_access& a : t.uses()) {
    if (!there || !lacks(a)) continue;
    hetero_copy& c = copy_of(t, a);
    there = allocate(c, p);
    if (there && !p.is_host()) touch(c);
  }
  p.pressed = !there;
  return there;
}

/// The device may have less than it said, since others use it, too: then copies go until it is enough.
bool hetero_copies::allocate(hetero_copy& c, place& p) {
  if (lies_in_whole(c)) {
    hetero_copy& whole = c.of->family->whole->at(0);
    if (whole.memory == nullptr && !allocate(whole, p)) return false;
    c.memory = whole.memory + c.of->offset;
    return true;
  }
  const std::uint64_t& retiring = retiring_[static_cast<std::size_t>(p.number())];
  while ((c.memory = p.allocate(c.of->bytes)) == nullptr) {
    hetero_copy* const other = p.is_host() || retiring > 0 ? nullptr : victim(p);
    if (other == nullptr || !evict(p, *other)) return false;
    ++counts_.evictions;
  }
  return true;
}

void hetero_copies::unpin(task_node& t) {
  if (!t.pinned) return;
  for (task_access& a : t.uses()) --copy_of(t, a).pins;
  t.pinned = false;
}

bool hetero_copies::valid_elsewhere(const hetero_copy& c) const {
  for (int i = 0; i < c.of->num_places; ++i) {
    if (i != c.place && c.of->at(i).state != coherence::invalid) return true;
  }
  return false;
}

/// What is worth nothing, else what will be needed last (Belady), else what was used longest ago. Tasks that have been
/// submitted tell what will be needed.
hetero_copy* hetero_copies::victim(const place& p) const {
  hetero_copy* best = nullptr;
  std::uint64_t best_age = 0;
  for (hetero_copy* c = p.oldest; c != nullptr; c = c->newer) {
    if (c->pins > 0) continue;
    if (c->state == coherence::invalid) return c;
    const task_access* const next = c->of->first_use;
    const std::uint64_t age = next == nullptr ? UINT64_MAX : next->by().age;
    if (best != nullptr && age <= best_age) continue;
    best = c;
    best_age = age;
    if (next == nullptr) break;
  }
  return best;
}

bool hetero_copies::make_room(place& p, std::uint64_t bytes) {
  const std::uint64_t& retiring = retiring_[static_cast<std::size_t>(p.number())];
  while (p.used() - retiring + bytes > p.capacity()) {
    hetero_copy* const c = victim(p);
    if (c == nullptr || !evict(p, *c)) return false;
    ++counts_.evictions;
  }
  return p.used() + bytes <= p.capacity();
}

bool hetero_copies::evict(place& p, hetero_copy& c) {
  if (c.of->family != nullptr) [[unlikely]] {
    if (!save(c)) return false;
  } else if (c.state != coherence::invalid && !valid_elsewhere(c)) {
    hetero_data& d = *c.of;
    place* peer = nullptr;
    for (std::size_t i = 1; i < places_.size(); ++i) {
      place& q = *places_[i];
      if (&q == &p || q.pressed || q.kind() != p.kind() || !q.on().reaches(p.on())) continue;
      if (q.used() + d.bytes <= q.capacity()) peer = &q;
    }
    hetero_copy* to = peer != nullptr ? &d.at(peer->number()) : nullptr;
    if (to != nullptr && to->memory == nullptr) to->memory = peer->allocate(d.bytes);
    if (to != nullptr && to->memory != nullptr && follow(peer->from_peers(), d, c, *to)) {
      copy(peer->from_peers(), c, *to, true);
      touch(*to);
    } else if (!bring_to_host(d)) {
      return false;
    }
  }
  drop(c);
  return true;
}

void hetero_copies::evict(hetero_data& d) {
  for (int i = 1; i < d.num_places; ++i) {
    hetero_copy& c = d.at(i);
    if (c.memory == nullptr || c.pins > 0) continue;
    const bool saved =
        d.family != nullptr ? save(c) : c.state == coherence::invalid || valid_elsewhere(c) || bring_to_host(d);
    if (saved) drop(c);
  }
  if (d.family == nullptr || &d != d.family->whole) return;
  for (hetero_data* s : d.family->all) evict(*s);
}

/// Memory whose last readers and writers are still at work.
struct hetero_copies::retired {
  hetero_copies* owner;
  place* at;
  std::byte* memory;
  std::uint64_t bytes;
  int num_left;

  void come() {
    if (--num_left > 0) return;
    owner->retiring_[static_cast<std::size_t>(at->number())] -= bytes;
    at->free(memory, bytes);
    slab::free(this);
  }
};

struct hetero_copies::retired_wait : lane_wait {
  retired* of = nullptr;
};

void hetero_copies::drop(hetero_copy& c) {
  if (lies_in_whole(c)) {
    hetero_copy& whole = c.of->family->whole->at(0);
    if (!c.written.reached()) whole.reads.add(c.written);
    c.reads.for_each([&](const lane_point& p) { whole.reads.add(p); });
    c.memory = nullptr;
    c.state = coherence::invalid;
    return;
  }
  place& p = *places_[c.place];
  if (c.of->family != nullptr) c.of->family->fresh(*c.of, c.place).clear();
  std::byte* const memory = std::exchange(c.memory, nullptr);
  c.state = coherence::invalid;
  unlink(c);
  const std::uint64_t bytes = c.of->bytes;
  if (c.place == 0 && c.of->borrowed) {
    // the program keeps it until what uses it is over
  } else if (c.written.reached() && c.reads.reached()) {
    p.free(memory, bytes);
  } else {
    auto* r = new (slab::allocate(sizeof(retired))) retired{this, &p, memory, bytes, 1};
    retiring_[c.place] += bytes;
    const auto wait = [&](const lane_point& q) {
      if (q.reached()) return;
      auto* w = new (slab::allocate(sizeof(retired_wait))) retired_wait;
      w->of = r;
      w->reached = [](lane_wait* a) {
        auto* self = static_cast<retired_wait*>(a);
        retired* const all = self->of;
        slab::free(self);
        all->come();
      };
      ++r->num_left;
      q.of->when_reached(q.number, w);
    };
    wait(c.written);
    c.reads.for_each(wait);
    r->come();
  }
  c.written = {};
  c.reads.clear();
}

void hetero_copies::unlink(hetero_copy& c) {
  place& p = *places_[c.place];
  if (p.oldest != &c && c.older == nullptr) return;  // not in the list
  (c.older != nullptr ? c.older->newer : p.oldest) = c.newer;
  (c.newer != nullptr ? c.newer->older : p.newest) = c.older;
  c.older = c.newer = nullptr;
}

void hetero_copies::touch(hetero_copy& c) {
  place& p = *places_[c.place];
  if (p.newest == &c) return;
  unlink(c);
  c.older = p.newest;
  (p.newest != nullptr ? p.newest->newer : p.oldest) = &c;
  p.newest = &c;
}

}  // namespace imbrex
