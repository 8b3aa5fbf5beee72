#include "imbrex/object/collection/chare_pe.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/object/collection/collection.h"
#include "imbrex/object/collection/entry_activity.h"
#include "imbrex/object/collection/singles.h"

namespace imbrex {

chare_pe::chare_pe(rank_context& rank, pe_id id, trace_track* t) : scheduler(rank, id, t) {
  device_like = [](executor& pe, const device& d) {
    const auto& here = static_cast<const scheduler&>(pe);
    const auto same = std::ranges::find_if(
        here.gpus, [&](const device* g) { return g->kind() == d.kind() && g->number() == d.number(); });
    return same != here.gpus.end() ? *same : here.host;
  };
  ties_of = [](const actor& a) {
    return &static_cast<element_base&>(const_cast<actor&>(a)).ties();  // whose code runs, and so may bind itself
  };
}

chare_pe::~chare_pe() = default;

// ------------------------------------------------------------------------------------------------ collections

void chare_pe::add_collection(std::unique_ptr<collection> c) {
  std::erase_if(early_broadcasts_, [&](const early_broadcasts& b) {
    if (!(b.array == c->id())) return false;
    c->broadcasts().continue_from(b.begun);
    return true;
  });
  const collection_key key{c->id().creator, c->id().number};
  collections_[key] = std::move(c);
}

collection* chare_pe::look_up_collection(collection_id c) {
  if (const found& before = found_[place_among_found(c)]; c == before.id) {
    last_found_ = before;
    return before.part;
  }
  if (c.is_of_singles()) return look_up_singles(c);
  const auto known = collections_.find({c.creator, c.number});
  if (known == collections_.end()) {
    if (static_cast<std::uint32_t>(c.creator) >= static_cast<std::uint32_t>(num_pes())) refuse_pe(c.creator);
    return nullptr;
  }
  return note_found(c, known->second.get());
}

collection* chare_pe::look_up_singles(collection_id c) {
  const auto& classes = singles_class::registry();
  const std::size_t number = c.number & ~collection_id::singles;
  if (number >= classes.size()) refuse_pe(no_pe);
  if (singles_.size() < classes.size()) singles_.resize(classes.size());
  if (singles_[number] == nullptr) singles_[number] = classes[number]->make(*this, c);
  return note_found(c, singles_[number].get());
}

std::uint32_t chare_pe::number_broadcast(collection_id c, priority p) {
  if (collection* const part = find_collection(c)) return part->broadcasts().begin(p.value);
  const auto place = static_cast<std::size_t>(p.value - priority::most_urgent);
  for (early_broadcasts& b : early_broadcasts_) {
    if (b.array == c) return ++b.begun[place];
  }
  early_broadcasts_.push_back({c});
  return ++early_broadcasts_.back().begun[place];
}

template <class F>
void chare_pe::for_each_collection(F f) const {
  for (const auto& [key, c] : collections_) f(*c);
  for (const auto& c : singles_) {
    if (c) f(*c);
  }
}

void chare_pe::for_each_part(const std::function<void(collection&)>& f) const { for_each_collection(f); }

// ------------------------------------------------------------------------------------------------ messages that wait

bool chare_pe::is_complete(collection_id c) const {
  if (c.creator == no_pe || c.is_of_singles()) return true;
  const auto known = collections_.find({c.creator, c.number});
  return known != collections_.end() && known->second->complete();
}

void detail::refuse_branch(const char* of) {
  throw usage_error(fmt::format(
      "PE {} has no element of the group of {}: it has not heard of the group yet (pass its proxy as an argument by "
      "itself, not inside of another one, or await a reduction of the group before), or the group has ended, or is "
      "none",
      scheduler::current().id(), of));
}

void chare_pe::release_held(collection_id c) {
  std::vector<work*> released;
  std::erase_if(held_, [&](const held& h) {
    if (h.id == c) released.push_back(h.message);
    return h.id == c;
  });
  post_in_front(released);
}

void chare_pe::refuse_held() {
  refuses_held_ = true;
  for_each_collection([](collection& c) {
    c.retry_held();
    c.refuse_claims();
  });
  refuses_held_ = false;
}

void chare_pe::discard_waiting() {
  for (const held& h : std::exchange(held_, {})) h.message->act(h.message, work_action::discard);
}

// ------------------------------------------------------------------------------------------------ what is asked of all

void chare_pe::fail_method(const element_base* e, const char* method, std::exception_ptr failure) noexcept {
  if (e != nullptr) {
    fail_entry(fmt::format("{} of {}", method, e->part->text(*e)), std::move(failure));
  } else if (method == main_chare_name) {
    fail_main(std::move(failure));
  } else {
    fail_entry(method, std::move(failure));
  }
}

void chare_pe::fail_message(const char* method, const std::string& index, std::exception_ptr failure) noexcept {
  fail_entry(fmt::format("a message for {} of element {}, going on", method, index), std::move(failure));
}

void chare_pe::add_counts(pe_counts& c) const {
  c.held += held_messages_;
  c.refused += refused_messages_;
  c.waiting += num_activities + num_reductions_begun;
}

void chare_pe::add_waits(const std::function<void(std::string)>& add) const {
  const auto describe = [&](const entry_activity* a, const std::string& who) {
    for (; a != nullptr; a = a->following) {
      std::string what;
      for (const waiter* w = a->first_waiter; w != nullptr; w = w->following) {
        what += fmt::format("{}{}", what.empty() ? "" : " and for ", w->describe(w));
      }
      add(fmt::format("{}{}{} waits for {}", a->name, who.empty() ? "" : " of ", who,
                      what.empty() ? "something the runtime does not know" : what));
    }
  };
  describe(first_activity, "");
  for_each_collection([&](collection& c) {
    for (const element_base* e : c.here()) describe(e->activities, c.text(*e));
    c.for_each_known([&](element_base& e) {
      std::size_t n = 0;
      for (work* w = e.extras ? e.extras->held_first : nullptr; w != nullptr; w = w->next) ++n;
      if (n > 0) add(fmt::format("{} message{} for {}, which does not exist", n, n == 1 ? "" : "s", c.text(e)));
    });
    if (std::string r = c.reductions().describe(); !r.empty()) add(r);
    c.for_each_section([&](const section_id&, const section_part& s) {
      if (std::string r = s.reductions.describe(); !r.empty()) add(r);
      for (const element_base* e : s.claimed) add(collection::text_of_non_member(*e));
    });
  });
  if (!held_.empty()) add(fmt::format("{} messages for a collection that was never created here", held_.size()));
}

void chare_pe::destroy_chares() {
  while (first_activity != nullptr) entry_activity::destroy(*this, first_activity);
  for_each_collection([](collection& c) { c.destroy_objects(); });
}

void chare_pe::destroy_parts() {
  last_found_ = {};
  found_ = {};
  collections_.clear();
  singles_.clear();
}

}  // namespace imbrex
