#include "imbrex/object/moving/move_requests.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/log.h"
#include "imbrex/object/collection/collection.h"
#include "imbrex/object/collection/entry_activity.h"

namespace imbrex {

namespace {
element_base& element_of(const actor& a) { return static_cast<element_base&>(const_cast<actor&>(a)); }
bool waits(const element_base& e) { return e.extras && e.extras->wish_to_move != nullptr; }
}  // namespace

move_requests::~move_requests() {
  while (num_waiting_ > 0) one_fewer();
}

move_requests& move_requests::of(chare_pe& pe) {
  if (pe.moves == nullptr) pe.moves = std::make_unique<move_requests>(pe);
  return static_cast<move_requests&>(*pe.moves);
}

void move_requests::keep(element_base& e, work* request) {
  forget(pe_, e);
  e.more().wish_to_move = request;
  if (num_waiting_++ == 0) {
    watch(pe_);
    pe_.before_resuming = &move_requests::goes_on_elsewhere;
  }
  if (e.extras->ties == nullptr) return;
  e.extras->ties->call_when_free(
      [](void* of) {
        auto& bound = *static_cast<element_base*>(of);
        if (waits(bound)) move_requests::of(chare_pe::current()).try_again(bound);
      },
      &e);
}

void move_requests::forget(chare_pe& pe, element_base& e) {
  if (!waits(e)) return;
  e.extras->sends_copies = false;
  work* const old = std::exchange(e.extras->wish_to_move, nullptr);
  old->act(old, work_action::discard);
  of(pe).one_fewer();
}

void move_requests::warn(const element_base& e, pe_id to) {
  const collection& part = *e.part;
  if (std::ranges::find(warned_of_, &part) != warned_of_.end()) return;
  warned_of_.push_back(&part);
  const entry_activity* a = e.activities;
  while (a != nullptr && part.is_restartable(*a)) a = a->following;
  const char* const why =
      part.pe().rank().is_local(to)
          ? "for which it has to be serialised, since its process has coherent objects or tasks, or "
            "several GPUs,"
          : "which is of another process,";
  log_warning(fmt::format(
      "{} is to move to PE {}, {} and cannot as long as {} has not ended: "
      "coroutines go there only from a move_point, and if the class lists them, "
      "using restartable = imbrex::entry_list<&{}>",
      part.text(e), to, why, a != nullptr ? a->name : "a coroutine", a != nullptr ? a->name : "block::run"));
}

void move_requests::when_idle(const element_base& e, std::vector<stream*> streams, std::function<void()> f) {
  draining_.insert_or_assign(&e, stream_drain(std::move(streams), [this, &e, call = std::move(f)] {
    draining_.erase(&e);
    call();
  }));
}

void move_requests::go_on_at_points(element_base& e) {
  for (entry_activity* a = e.activities; a != nullptr; a = a->following) {
    for (waiter* w = a->first_waiter; w != nullptr; w = w->following) {
      if (w->mobility != &at_move_point) continue;
      w->mobility = nullptr;
      w->wake();
    }
  }
}

void move_requests::one_fewer() {
  if (--num_waiting_ > 0) return;
  unwatch(pe_);
  pe_.before_resuming = nullptr;
}

// A coroutine that only ever waits for devices is never found at a wait that moves: it does between two.
bool move_requests::goes_on_elsewhere(waiter& w) {
  if (w.owner == nullptr || w.owner->of == nullptr) return false;
  element_base& e = element_of(*w.owner->of);
  if (!waits(e)) return false;
  work* const request = std::exchange(e.extras->wish_to_move, nullptr);
  chare_pe& pe = chare_pe::current();
  of(pe).one_fewer();
  const wait_mobility* const before = std::exchange(w.mobility, &goes_on_there);
  pe.count_created();
  request->act(request, work_action::run);
  if (e.object == nullptr) return true;
  w.mobility = before;
  return false;
}

void move_requests::run_changes(const actor* from, const actor*, std::int64_t) {
  if (from != nullptr && waits(element_of(*from))) try_again(element_of(*from));
}

void move_requests::has_left(const actor& a) { forget(pe_, element_of(a)); }

void move_requests::try_again(element_base& e) {
  if (!waits(e)) return;  // it is being tried
  work* const request = std::exchange(e.extras->wish_to_move, nullptr);
  e.extras->wish_is_tried = true;
  one_fewer();
  if (pe_.stopping()) return request->act(request, work_action::discard);
  pe_.count_created();
  pe_.post_here(request);
}

}  // namespace imbrex
