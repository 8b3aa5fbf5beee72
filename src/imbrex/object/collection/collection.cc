#include "imbrex/object/collection/collection.h"

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "imbrex/object/collection/entry_activity.h"
#include "imbrex/object/data/port_table.h"

namespace imbrex {

element_extras::element_extras() = default;
element_extras::~element_extras() { actor_ties::abandon(ties); }

actor_ties& element_base::ties() {
  if (more().ties == nullptr) extras->ties = actor_ties::make();
  return *extras->ties;
}

port_table& element_base::ports() {
  if (!more().ports) extras->ports = std::make_unique<port_table>();
  return *extras->ports;
}

void detail::free_object_memory(void* memory, std::size_t alignment) {
  if (alignment > slab::alignment) {
    ::operator delete(memory, std::align_val_t(alignment));
  } else {
    slab::free(memory);
  }
}

void chare_access::destroy(chare_base* c) {
  const std::size_t alignment = c->alignment_;
  void* const memory = dynamic_cast<void*>(c);
  c->~chare_base();
  detail::free_object_memory(memory, alignment);
}

chare_base::chare_base() : element_(nullptr) {
  scheduler* pe = scheduler::current_or_null();
  if (pe != nullptr) element_ = std::exchange(chare_pe::of(*pe).constructing, nullptr);
  if (element_ == nullptr) {
    throw usage_error("a chare was constructed directly: make it with create, create_array, create_group or insert");
  }
}

void detail::refuse_pe_of_caller(const element_base& e, const scheduler& caller) {
  throw usage_error(
      fmt::format("{} is on PE {}, and a member of it was called that its own PE alone may, by PE {}: what runs "
                  "elsewhere, as tasks may, sends it a message (proxy)",
                  e.part->text(e), e.part->pe().id(), caller.id()));
}

collection::collection(chare_pe& pe, collection_id id, const char* chare_name)
    : pe_(pe),
      id_(id),
      chare_name_(chare_name),
      reductions_(pe, *this, section_id{}, pe.standing_for(id.creator)),
      census_(*this),
      heads_(*this) {}

collection::~collection() = default;

void collection::becomes_present(element_base& e, chare_base* object) {
  e.object = object;
  e.heard = last_here_;
  e.state = presence::here;
  e.where = pe_.id();
  e.position = static_cast<std::uint32_t>(here_.size());
  here_.push_back(&e);
  if (has_reductions_) reductions_.element_came(e);
  if (e.blocked == 0) release_held(e);
}

void collection::becomes_absent(element_base& e, presence becomes, pe_id where) {
  if (has_reductions_) announce_change();  // while `e` is still counted
  while (e.activities != nullptr) entry_activity::destroy(pe_, e.activities);
  chare_base* object = leave_list(e, becomes, where);
  {
    const actor_turn turn(pe_, &e);
    chare_access::destroy(object);
  }
  if (e.extras) {
    e.extras->ports.reset();
    actor_ties::abandon(std::exchange(e.extras->ties, nullptr));
  }
  has_left(e);
}

chare_base* collection::leave_list(element_base& e, presence becomes, pe_id where) {
  if (e.extras) e.extras->graphs_of_rounds.reset();
  e.state = becomes;
  e.where = where;
  here_[e.position] = here_.back();
  here_[e.position]->position = e.position;
  here_.pop_back();
  return std::exchange(e.object, nullptr);
}

void collection::has_left(element_base& e) {
  if (pe_.observer != nullptr) [[unlikely]]
    actor_observer::tell_left(pe_, e);
  if (e.extras) {
    forget_hearing(*e.extras);
    e.extras->wish_is_tried = false;  // who comes in its place, or comes back, has none
  }
  if (has_reductions_) reductions_.element_left(e);
  release_held(e);
}

void collection::bind(element_base& travelling, element_base& to) {
  to.activities = std::exchange(travelling.activities, nullptr);
  for (entry_activity* a = to.activities; a != nullptr; a = a->following) a->of = &to;
  if (!travelling.extras) return;
  if (travelling.extras->ties != nullptr) {
    actor_ties::abandon(to.more().ties);  // of an earlier stay
    to.extras->ties = std::exchange(travelling.extras->ties, nullptr);
  }
  if (!travelling.extras->ports) return;
  to.more().ports = std::move(travelling.extras->ports);
  to.extras->ports->for_each_end([&](port_end& end) { end.self = &to; });
}

void collection::gives_up(element_base& e, pe_id where, element_base& travelling) {
  if (has_reductions_) announce_change();
  for (const entry_activity* a = e.activities; a != nullptr; a = a->following) --pe_.num_activities;
  bind(e, travelling);
  travelling.object = leave_list(e, presence::elsewhere, where);
  chare_access::set_element(*travelling.object, travelling);
  has_left(e);
}

void collection::takes_over(element_base& e, element_base& travelling) {
  bind(travelling, e);
  for (const entry_activity* a = e.activities; a != nullptr; a = a->following) ++pe_.num_activities;
  if (e.extras && e.extras->ports) e.extras->ports->for_each_end([&](port_end& end) { end.goes_to(pe_.mover.get()); });
  chare_base* const object = std::exchange(travelling.object, nullptr);
  chare_access::set_element(*object, e);
  becomes_present(e, object);
}

void collection::destroy(scheduler& pe, element_base& travelling) {
  while (travelling.activities != nullptr) {
    for (waiter* w = travelling.activities->first_waiter; w != nullptr; w = w->following) {
      w->home = &pe;
      w->handle = nullptr;  // it stands nowhere
    }
    ++chare_pe::of(pe).num_activities;
    entry_activity::destroy(pe, travelling.activities);
  }
  const actor_turn turn(pe, &travelling);
  chare_access::destroy(std::exchange(travelling.object, nullptr));
}

void collection::forget_hearing(element_extras& x) {
  if (!x.hearing) return;
  num_ahead_ -= static_cast<std::uint32_t>(x.hearing->ahead.size());
  x.hearing.reset();
}

void collection::block(element_base& e) {
  ++e.blocked;
  ++num_unheard_or_blocked_;
}

void collection::unblock(element_base& e) {
  --num_unheard_or_blocked_;
  if (--e.blocked > 0) return;
  if (e.extras) {  // before anything else: broadcasts that follow them may be about to come
    for (const auto& b : std::exchange(e.extras->pending_broadcasts, {})) b->invoke(pe_, e);
  }
  release_held(e);
}

// ------------------------------------------------------------------------------------------------ broadcasts

std::vector<element_base*> collection::listeners(const broadcast_id& id, std::uint32_t here) {
  if (num_ahead_ == 0) return here_;
  std::vector<element_base*> all;
  all.reserve(here_.size());
  for (element_base* e : here_) {
    if (!passes_over(*e, id)) {
      all.push_back(e);
    } else {
      catch_up(*e, here);
      e->heard = here;
    }
  }
  return all;
}

// Once the PE has taken as many of a stream as the element, they hear the same from then on.
bool collection::passes_over(element_base& e, const broadcast_id& id) {
  element_hearing* const h = e.extras ? e.extras->hearing.get() : nullptr;
  if (h == nullptr) return false;
  for (broadcast_id& a : h->ahead) {
    if (a.stream != id.stream) continue;
    if (a.number == id.number) {
      std::swap(a, h->ahead.back());
      h->ahead.pop_back();
      --num_ahead_;
      if (h->empty()) e.extras->hearing.reset();
    }
    return true;
  }
  return false;
}

void collection::begin_slices(array_broadcast& b) {
  slices_.push_back(&b);
  ++num_unheard_or_blocked_;
}

void collection::end_slices(array_broadcast& b) {
  num_unheard_or_blocked_ -= static_cast<std::uint32_t>(std::erase(slices_, &b));
}

// What is delivered may end other broadcasts, never begin one: those come from the PE's loop.
void collection::catch_up(element_base& e, std::uint32_t limit) {
  for (std::size_t i = 0; i < slices_.size(); ++i) {
    array_broadcast& b = *slices_[i];
    const bool is_due = static_cast<std::int32_t>(limit - b.number()) > 0;
    if (is_due && static_cast<std::int32_t>(b.number() - e.heard) > 0) b.deliver_now(pe_, e);
  }
}

namespace {

void raise(broadcast_history& h, const broadcast_id& to) {
  const auto known = std::find_if(h.begin(), h.end(), [&](const broadcast_id& b) { return b.stream == to.stream; });
  if (known == h.end()) {
    h.push_back(to);
  } else {
    known->number = std::max(known->number, to.number);
  }
}

}  // namespace

broadcast_history collection::history_of(const element_base& e) const {
  broadcast_history h = ledger_.taken();
  if (!e.extras || !e.extras->hearing) return h;
  for (const broadcast_id& a : e.extras->hearing->ahead) raise(h, a);
  return h;
}

broadcast_history collection::history_here() const {
  broadcast_history h = ledger_.taken();
  for (int level = priority::most_urgent; level <= priority::least_urgent; ++level) {
    if (const std::uint32_t n = ledger_.num_begun(level); n > 0)
      raise(h, {broadcast_id::stream_of(pe_.id(), level), n});
  }
  return h;
}

broadcast_history collection::ahead_of_here(const broadcast_history& history) const {
  broadcast_history ahead;
  for (const broadcast_id& heard : history) {
    if (!ledger_.has_taken(heard)) ahead.push_back(heard);
  }
  return ahead;
}

void collection::start_hearing(element_base& e, const broadcast_history& history) {
  broadcast_history ahead = ahead_of_here(history);
  if (ahead.empty()) return;
  num_ahead_ += static_cast<std::uint32_t>(ahead.size());
  e.more().hearing = std::make_unique<element_hearing>();
  e.extras->hearing->ahead = std::move(ahead);
}

std::vector<broadcast_range> collection::compare_hearing(element_base& e, const broadcast_history& history) {
  auto hearing = std::make_unique<element_hearing>();
  auto heard_of = [&](std::uint32_t stream) {
    for (const broadcast_id& h : history) {
      if (h.stream == stream) return h.number;
    }
    return std::uint32_t{0};
  };
  for (const broadcast_id& here : ledger_.taken()) {
    if (const std::uint32_t heard = heard_of(here.stream); heard < here.number)
      hearing->missing.push_back({here.stream, heard + 1, here.number});
  }
  hearing->ahead = ahead_of_here(history);
  std::vector<broadcast_range> missing = hearing->missing;
  num_ahead_ += static_cast<std::uint32_t>(hearing->ahead.size());
  if (hearing->misses_any()) block(e);
  if (!hearing->empty()) e.more().hearing = std::move(hearing);
  return missing;
}

bool collection::hear_missed(element_base& e, const broadcast_id& id) {
  element_hearing& h = *e.extras->hearing;
  for (broadcast_range& r : h.missing) {
    if (r.stream != id.stream || r.first != id.number) continue;
    ++r.first;
    return true;
  }
  return false;
}

void collection::after_missed(element_base& e) {
  if (!e.extras || !e.extras->hearing) return;
  element_hearing& h = *e.extras->hearing;
  pe_.post_in_front(std::exchange(h.early, {}));
  std::erase_if(h.missing, [](const broadcast_range& r) { return r.first > r.last; });
  if (h.misses_any()) return;
  if (h.empty()) e.extras->hearing.reset();
  unblock(e);
}

// ------------------------------------------------------------------------------------------------ messages that wait

void collection::hold(element_base& e, work* message) {
  element_extras& x = e.more();
  pe_.count_held(1);
  message->next = nullptr;
  (x.held_last != nullptr ? x.held_last->next : x.held_first) = message;
  x.held_last = message;
}

void collection::release_held(element_base& e) {
  if (!e.extras) return;
  std::vector<work*> released;
  for (work* w = std::exchange(e.extras->held_first, nullptr); w != nullptr; w = w->next) {
    pe_.count_held(-1);
    pe_.count_created();
    released.push_back(w);
  }
  e.extras->held_last = nullptr;
  pe_.post_in_front(released);
}

void collection::retry_held() {
  std::vector<work*> all;  // what is performed may add to what is known
  for_each_known([&](element_base& e) {
    if (!e.extras) return;
    for (work* w = std::exchange(e.extras->held_first, nullptr); w != nullptr; w = w->next) all.push_back(w);
    e.extras->held_last = nullptr;
  });
  for (work* w : all) {
    pe_.count_held(-1);
    pe_.count_created();
    w->act(w, work_action::run);
  }
}

void collection::destroy_objects() {
  for (element_base* e : here_) {
    while (e->activities != nullptr) entry_activity::destroy(pe_, e->activities);
  }
  for (element_base* e : here_) {
    const actor_turn turn(pe_, e);
    chare_access::destroy(std::exchange(e->object, nullptr));
    if (!e->extras) continue;
    e->extras->graphs_of_rounds.reset();
    e->extras->ports.reset();
    actor_ties::abandon(std::exchange(e->extras->ties, nullptr));
  }
  here_.clear();
  for_each_known([](element_base& e) {
    if (!e.extras) return;
    if (work* const wish = std::exchange(e.extras->wish_to_move, nullptr); wish != nullptr)
      wish->act(wish, work_action::discard);
    for (work* w = std::exchange(e.extras->held_first, nullptr); w != nullptr;) {
      work* following = w->next;
      w->act(w, work_action::discard);
      w = following;
    }
    if (!e.extras->hearing) return;
    for (work* w : std::exchange(e.extras->hearing->early, {})) w->act(w, work_action::discard);
  });
  ledger_.discard();
  for (auto& s : sections_) {
    for (work* w : std::exchange(s.second->held, {})) w->act(w, work_action::discard);
  }
}

// ------------------------------------------------------------------------------------------------ change

namespace {

/// Somewhere below in the tree of PE 0 the array has begun to change.
struct change_request {
  collection_id array;
  std::uint32_t wave = 0;

  void operator()(scheduler& pe) {
    if (collection* const part = chare_pe::of(pe).find_collection(array)) {
      part->pass_on_change(wave);
    } else {
      chare_pe::of(pe).hold_for_collection(array, std::move(*this));
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & wave;
  }
};

/// From now on elements of the array come, go or move.
struct change_notice {
  pe_id root = no_pe;
  collection_id array;
  std::uint32_t wave = 0;

  void operator()(scheduler& pe) {
    pe.relay(*this, priorities::communication);
    late{array, wave}(pe);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & array & wave;
  }

 private:
  // A part that does not exist yet is created with the right numbers for its elements only, so it must hear too.
  struct late {
    collection_id array;
    std::uint32_t wave = 0;
    void operator()(scheduler& pe) {
      if (collection* const part = chare_pe::of(pe).find_collection(array)) {
        part->set_changing(wave);
      } else {
        chare_pe::of(pe).hold_for_collection(array, std::move(*this));
      }
    }
    template <class Archive>
    void serialize(Archive&) {}  // never leaves its PE
  };
};

}  // namespace

void collection::announce_change() {
  if (!changing()) announce_change(census_.wave_in_force());
}

void collection::announce_change(std::uint32_t wave) {
  set_changing(wave);
  pass_on_change(wave);
}

// Many PEs may find it at once, as when all elements move: up the tree each passes it on once, and PE 0 tells all.
void collection::pass_on_change(std::uint32_t wave) {
  if (change_passed_on_ > wave) return;
  change_passed_on_ = wave + 1;
  const pe_id above = pe_.tree_parent(0);
  if (above == no_pe) {
    pe_.spread(change_notice{pe_.id(), id_, wave}, priorities::communication);
  } else {
    pe_.send(above, change_request{id_, wave}, priorities::communication);
  }
}

void collection::set_changing(std::uint32_t wave) {
  census_.cancel(wave);
  if (census_.wave_in_force() > wave || changing()) return;
  ever_changed_ = true;
  reductions_.set_changing();
  for (auto& s : sections_) s.second->reductions.set_changing();
}

// ------------------------------------------------------------------------------------------------ checkpoints

std::string collection::what_is_under_way() const {
  if (!calm()) return fmt::format("broadcasts to {} have not been heard by all", chare_name_);
  if (std::string reduction = reductions_.what_is_under_way(); !reduction.empty())
    return fmt::format("{}: {}", chare_name_, reduction);
  for (const auto& [id, part] : sections_) {
    if (std::string reduction = part->reductions.what_is_under_way(); !reduction.empty())
      return fmt::format("a section of {}: {}", chare_name_, reduction);
  }
  std::string found;
  for_each_known([&](element_base& e) {
    if (!found.empty() || !e.extras) return;
    if (e.extras->held_first != nullptr) found = fmt::format("messages wait for {}, which does not exist", text(e));
    if (e.object == nullptr) return;
    if (e.extras->ties != nullptr && e.extras->ties->ties())
      found = fmt::format("{} has futures or exposed memory", text(e));
    if (e.extras->ports != nullptr && e.extras->ports->has_messages())
      found = fmt::format("a message in a channel of {} has not been received", text(e));
  });
  return found;
}

void collection::has_come_back(std::uint64_t below, std::uint64_t in_all, bool not_at_home) {
  ever_changed_ = not_at_home;
  if (in_all == 0) set_changing(0);
  reductions_.expect(below, in_all);
  set_complete();
}

}  // namespace imbrex
