#include "imbrex/object/moving/binding.h"

#include <algorithm>

#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/collection/element.h"
#include "imbrex/object/collection/entry_activity.h"
#include "imbrex/object/data/port_table.h"

namespace imbrex {

namespace {

// A coroutine of which no wait is known stands at something of the user's own.
bool may_leave(const entry_activity& a) {
  if (a.first_waiter == nullptr) return false;
  for (const waiter* w = a.first_waiter; w != nullptr; w = w->following) {
    if (!w->may_leave()) return false;
  }
  return true;
}

// A message that it has borrowed may lie in the memory of another process's GPU: who has read it is told by this PE.
bool may_read_other_process(const chare_pe& pe, const port_table& ports) {
  if (pe.gpus.empty()) return false;
  bool found = false;
  ports.for_each_end(
      [&](const port_end& end) { found |= end.peer().known() || !end.stays_in_process(const_cast<chare_pe&>(pe)); });
  return found;
}

// Memory of one GPU would have to follow to another, and only `serialize` knows of it.
bool drives_several_gpus(const rank_context& rank) {
  return std::ranges::any_of(rank.gpu_of_pe, [&](int gpu) { return gpu != rank.gpu_of_pe.front(); });
}

}  // namespace

bool serialises_moves(const chare_pe& pe) {
  const bool has_objects = pe.hetero != nullptr && !pe.hetero->is_unused() && pe.hetero->visits() == nullptr;
  return has_objects || drives_several_gpus(pe.rank());
}

bool own_streams_are_idle(const element_base& e) {
  return !e.extras || e.extras->ties == nullptr || e.extras->ties->followers_are_idle();
}

std::vector<stream*> own_streams(const element_base& e) {
  std::vector<stream*> all;
  if (!e.extras || e.extras->ties == nullptr) return all;
  e.extras->ties->for_each_follower([&](const actor_follower& f) {
    if (stream* const s = stream::that_follows(f); s != nullptr) all.push_back(s);
  });
  return all;
}

binding binding_of(const chare_pe& pe, const element_base& e) {
  if (serialises_moves(pe)) return binding::objects;
  for (const entry_activity* a = e.activities; a != nullptr; a = a->following) {
    if (!may_leave(*a)) return binding::wait;
  }
  if (e.extras) {
    if (e.extras->ties != nullptr && e.extras->ties->ties()) return binding::ties;
    if (pe.mover != nullptr && e.extras->ports && may_read_other_process(pe, *e.extras->ports)) return binding::channel;
  }
  if (!own_streams_are_idle(e)) return binding::wait;
  const stream_set* const streams = chare_access::streams(*e.object);
  return streams == nullptr || streams->idle() ? binding::none : binding::streams;
}

std::string text(binding b) {
  switch (b) {
    case binding::none: return "nothing";
    case binding::streams: return "its streams are busy";
    case binding::ties: return "it has futures or exposed memory";
    case binding::wait:
      return "a coroutine of it waits for something of this PE, such as a device, or a stream that it made is busy";
    case binding::channel: return "it has a channel to another process, and its process GPUs";
    case binding::objects:
      return "its PE has coherent objects, or its process several GPUs, and one of its coroutines waits";
  }
  return "?";
}

}  // namespace imbrex
