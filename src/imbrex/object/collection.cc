#include "imbrex/object/collection.h"

#include "imbrex/object/entry_activity.h"
#include "imbrex/object/port_table.h"

namespace imbrex {

element_extras::element_extras() = default;
element_extras::~element_extras() = default;

port_table& element_base::ports() {
  if (!more().ports) extras->ports = std::make_unique<port_table>();
  return *extras->ports;
}

chare_base::chare_base() : element_(nullptr) {
  scheduler* pe = scheduler::current_or_null();
  if (pe != nullptr) element_ = std::exchange(pe->constructing, nullptr);
  if (element_ == nullptr) {
    throw usage_error("a chare was constructed directly: make it with create, create_array, create_group or insert");
  }
}

collection::collection(scheduler& pe, collection_id id, const char* chare_name)
    : pe_(pe), id_(id), chare_name_(chare_name), reductions_(pe, *this, section_id{}, id.creator) {}

collection::~collection() = default;

void collection::settle(element_base& e, chare_base* object) {
  e.object = object;
  e.state = presence::here;
  e.where = pe_.id();
  e.position = static_cast<std::uint32_t>(here_.size());
  here_.push_back(&e);
  if (changing_) reductions_.element_came(e);
  release_held(e);
}

void collection::unsettle(element_base& e, presence becomes, pe_id where) {
  set_changing();  // while `e` is still counted
  while (e.activities != nullptr) entry_activity::destroy(pe_, e.activities);
  chare_base* object = std::exchange(e.object, nullptr);
  e.state = becomes;
  e.where = where;
  here_[e.position] = here_.back();
  here_[e.position]->position = e.position;
  here_.pop_back();
  object->destroy_object();
  if (e.extras) e.extras->ports.reset();
  reductions_.element_left(e);
}

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

void collection::destroy_objects() {
  for (element_base* e : here_) {
    while (e->activities != nullptr) entry_activity::destroy(pe_, e->activities);
  }
  for (element_base* e : here_) {
    std::exchange(e->object, nullptr)->destroy_object();
    if (e->extras) e->extras->ports.reset();
  }
  here_.clear();
  for_each_known([](element_base& e) {
    if (!e.extras) return;
    for (work* w = std::exchange(e.extras->held_first, nullptr); w != nullptr;) {
      work* following = w->next;
      w->act(w, work_action::discard);
      w = following;
    }
  });
  for (auto& s : sections_) {
    for (work* w : std::exchange(s.second->held, {})) w->act(w, work_action::discard);
  }
}

void collection::set_changing() {
  if (changing_) return;
  changing_ = true;
  reductions_.set_changing();
  for (auto& s : sections_) s.second->reductions.set_changing();
}

section_part& collection::add_section(const section_id& s) {
  for (auto& known : sections_) {
    if (known.first == s) return *known.second;
  }
  sections_.emplace_back(s, std::make_unique<section_part>(pe_, *this, s));
  if (changing_) sections_.back().second->reductions.set_changing();
  return *sections_.back().second;
}

}  // namespace imbrex
