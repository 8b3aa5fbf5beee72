#include "imbrex/object/data/port_table.h"

#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

/// Of what the other ends have told of themselves only the newest is kept, for a port that may never be opened again.
void keep_newest(channel_message& hello, std::vector<parked_message>& come) {
  std::vector<parked_message> rest;
  for (parked_message& m : std::exchange(come, {})) {
    if (m.is_send()) {
      rest.push_back(std::move(m));
    } else if (channel_message known = m.take(); known.sequence > hello.sequence) {
      hello = std::move(known);
    }
  }
  come = std::move(rest);
}

}  // namespace

bool port_table::open(int port, port_end* end) {
  entry& e = at(port);
  if (e.end != nullptr)
    throw usage_error(
        fmt::format("{}: port {} is in use by another channel: give one of them another", end->name(), port));
  e.end = end;
  const std::unique_ptr<const channel_progress> so_far = std::move(e.so_far);
  if (so_far != nullptr) end->resume(*so_far);
  for (parked_message& m : std::exchange(e.early, {})) give(*end, m.take());
  return so_far != nullptr;
}

void port_table::deliver(int port, channel_message&& m) {
  entry& e = at(port);
  if (e.end != nullptr) {
    give(*e.end, std::move(m));
  } else {
    if (m.hello.known()) keep_newest(m, e.early);
    e.early.emplace_back(std::move(m));
  }
}

void port_table::give(port_end& end, channel_message&& m) {
  if (m.hello.known()) {
    end.meet(m);
  } else {
    end.arrived(std::move(m));
  }
}

std::vector<port_message> port_table::take_bound(bool to_other_process) {
  std::vector<port_message> all;
  for (entry& e : entries_) {
    if (e.end != nullptr) {
      for (channel_message& m : e.end->take_bound(to_other_process)) all.push_back({e.port, std::move(m)});
    }
    std::vector<parked_message> rest;
    for (parked_message& m : std::exchange(e.early, {})) {
      if (m.is_bound(to_other_process)) {
        all.push_back({e.port, m.take()});
      } else {
        rest.push_back(std::move(m));
      }
    }
    e.early = std::move(rest);
  }
  return all;
}

std::vector<port_state> port_table::leave() {
  std::vector<port_state> all;
  for (entry& e : entries_) {
    port_state s{e.port, e.end != nullptr || e.so_far != nullptr, {}, {}};
    if (e.end != nullptr) {
      s.so_far = e.end->leave(s.come);
    } else if (e.so_far != nullptr) {
      s.so_far = *std::exchange(e.so_far, nullptr);
    }
    for (parked_message& m : std::exchange(e.early, {})) s.come.push_back(m.take());
    if (s.was_open || !s.come.empty()) all.push_back(std::move(s));
  }
  return all;
}

void port_table::arrive(std::vector<port_state>&& all) {
  for (port_state& s : all) {
    entry& e = at(s.port);
    if (s.was_open) e.so_far = std::make_unique<const channel_progress>(s.so_far);
    for (channel_message& m : s.come) e.early.emplace_back(std::move(m));
  }
}

int port_table::first_unopened() const {
  const auto found = std::ranges::find_if(entries_, [](const entry& e) { return e.so_far != nullptr; });
  return found != entries_.end() ? found->port : -1;
}

port_table::entry& port_table::at(int port) {
  for (entry& e : entries_) {
    if (e.port == port) return e;
  }
  return entries_.emplace_back(port);
}

}  // namespace imbrex
