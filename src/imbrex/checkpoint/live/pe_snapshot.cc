#include "imbrex/checkpoint/live/pe_snapshot.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/collection/entry_activity.h"

namespace imbrex {

std::vector<std::string> record_kind_names() {
  return {"program",        "read-only globals", "numbers",        "arrays",   "elements",
          "ended elements", "sections",          "freed sections", "balancing"};
}

namespace {

// A coroutine of which no wait is known stands at something of the user's own.
bool stands_at_point(const entry_activity& a) {
  return a.first_waiter != nullptr && a.first_waiter->following == nullptr && a.first_waiter->mobility != nullptr &&
         a.first_waiter->mobility->is_checkpoint_point;
}

std::string where_it_waits(const entry_activity& a) {
  return a.first_waiter != nullptr ? "waits for " + a.first_waiter->describe(a.first_waiter) : "has not ended";
}

void check_is_between_phases(const collection& part) {
  if (const std::string what = part.what_is_under_way(); !what.empty())
    throw checkpoint_error(fmt::format("no checkpoint can be made here: {}", what));
  for (const element_base* e : part.here()) {
    for (const entry_activity* a = e->activities; a != nullptr; a = a->following) {
      if (stands_at_point(*a)) continue;
      throw checkpoint_error(
          fmt::format("no checkpoint can be made here: {} of {} {}, and coroutines cannot be kept; at a checkpoint "
                      "coroutines of chares have ended, or wait in checkpoint_point",
                      a->name, part.text(*e), where_it_waits(*a)));
    }
  }
}

[[noreturn]] void throw_of_serialize(const std::string& whose, const std::string& what) {
  throw checkpoint_error(fmt::format("no checkpoint can be made here: serialize of {} threw: {}", whose, what));
}

/// The user's: what it throws is said to be of it.
saved_state save(collection& part, element_base& e, device_saver& saver) {
  try {
    return part.save(e, saver);
  } catch (const error&) {
    throw;  // these say what they are about
  } catch (const std::exception& thrown) {
    throw_of_serialize(part.text(e), thrown.what());
  } catch (...) {
    throw_of_serialize(part.text(e), "what is no std::exception");
  }
}

class snapshot_of_pe {
 public:
  snapshot_of_pe(chare_pe& pe, device_saver& saver) : pe_(pe), saver_(saver) {}

  std::vector<snapshot_record> take() {
    pe_numbers_record numbers{pe_.num_collections_named(), pe_.num_sections_named(), 0};
    pe_.for_each_part([&](collection& part) {
      check_is_between_phases(part);
      if (part.id().is_of_singles()) {
        numbers.singles = std::max(numbers.singles, static_cast<array_part<no_index>&>(part).largest_number());
      } else if (pe_.id() == 0) {
        collection_recipe recipe = part.recipe();
        add(record_kind::array, part.id(), recipe);
      }
      add_elements(part);
      add_sections(part);
    });
    add(record_kind::numbers, nullptr, numbers);
    if (pe_.id() == 0 && pe_.balancing != nullptr)
      add_bytes(record_kind::balancing, nullptr, {pe_.balancing->to_keep(), {}});
    return std::move(all_);
  }

 private:
  void add_elements(collection& part) {
    for (element_base* e : part.here())
      add_bytes(record_kind::element, element_key{part.id(), pe_.id(), e->epoch, part.index_bytes(*e)},
                save(part, *e, saver_));
    part.for_each_known([&](element_base& e) {
      if (e.state != presence::deleted) return;
      std::vector<std::byte> index = part.index_bytes(e);
      if (part.home_of(index) != pe_.id()) return;
      add_bytes(record_kind::ended, element_key{part.id(), pe_.id(), e.epoch, std::move(index)}, {});
    });
  }

  void add_sections(collection& part) {
    part.for_each_section([&](const section_id& id, const section_part& s) {
      std::vector<std::vector<std::byte>> members;
      members.reserve(s.members.size());
      for (const element_base* e : s.members) members.push_back(part.index_bytes(*e));
      if (!members.empty() || pe_.standing_for(id.creator) == pe_.id())
        add(record_kind::section, section_key{part.id(), id}, members);
    });
    for (const section_id& id : part.freed_sections())
      add_bytes(record_kind::freed_section, section_key{part.id(), id}, {});
  }

  template <class Key, class Value>
  void add(record_kind kind, Key key, Value& value) {
    add_bytes(kind, std::move(key), {to_bytes(value), {}});
  }
  template <class Key>
  void add_bytes(record_kind kind, Key key, saved_state payload) {
    snapshot_record r{kind, {}, std::move(payload)};
    if constexpr (!std::is_same_v<Key, std::nullptr_t>) r.key = to_bytes(key);
    all_.push_back(std::move(r));
  }

  chare_pe& pe_;
  device_saver& saver_;
  std::vector<snapshot_record> all_;
};

}  // namespace

std::vector<snapshot_record> take_snapshot(chare_pe& pe, device_saver& saver) {
  return snapshot_of_pe(pe, saver).take();
}

}  // namespace imbrex
