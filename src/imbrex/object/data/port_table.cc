#include "imbrex/object/data/port_table.h"

#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

void give(port_end& end, channel_message&& m) {
  if (m.is_hello) {
    end.meet(m.hello());
  } else {
    end.arrived(std::move(m));
  }
}

/// Takes out of `come` what `f` is true for.
template <class F>
std::vector<parked_message> take_if(std::vector<parked_message>& come, F f) {
  std::vector<parked_message> taken, rest;
  for (parked_message& m : std::exchange(come, {})) (f(m.message()) ? taken : rest).push_back(std::move(m));
  come = std::move(rest);
  return taken;
}

// An opening is the life of the sender, of which few bits do, and how many of its ends have sent to the same port in
// it.
constexpr std::uint32_t count_bits = 23;
constexpr std::uint32_t count_of(std::uint32_t opening) { return opening & ((1u << count_bits) - 1); }
constexpr std::uint32_t life_of(std::uint32_t opening) { return opening >> count_bits; }
constexpr std::uint32_t opening_of(std::uint32_t life, std::uint32_t count) {
  return (life & 0xff) << count_bits | count_of(count);
}

}  // namespace

port_history& port_table::entry::history(std::uint64_t peer) {
  const auto known = std::ranges::find(before, peer, &port_history::peer);
  return known != before.end() ? *known : before.emplace_back(port_history{peer});
}

std::uint32_t port_table::next_opening(const port_end& end) {
  return opening_of(end.life, ++at(end.peer_port).history(end.peer_identity).sent);
}

// Of a chare that has taken the place of an earlier one others may go on counting.
bool port_table::entry::is_next(const channel_message& m) {
  const std::uint32_t last = history(m.from).received;
  if (last == 0) return end->life > 0 || count_of(m.opening) == 1;
  return m.opening == opening_of(life_of(m.opening), life_of(m.opening) == life_of(last) ? count_of(last) + 1 : 1);
}

bool port_table::entry::takes(const channel_message& m) {
  if (end == nullptr || m.from != end->peer_identity) return false;
  if (m.is_hello || m.opening == end->peer_opening()) return true;
  if (end->peer_opening() != 0 || !is_next(m)) return false;
  history(m.from).received = m.opening;
  end->begins_to_receive(m.opening);
  return true;
}

// Of what one chare has told of itself only the newest is kept, for a port that may never be opened to it.
void port_table::entry::keep(channel_message&& m) {
  if (m.is_hello) {
    const auto same = [&](const channel_message& k) { return k.is_hello && k.from == m.from; };
    for (parked_message& old : take_if(early, same)) {
      if (channel_message known = old.take(); m.hello().peer.is_older_than(known.hello().peer)) m = std::move(known);
    }
  }
  early.emplace_back(std::move(m));
}

bool port_table::open(int port, port_end* end) {
  entry& e = at(port);
  if (e.end != nullptr)
    throw usage_error(
        fmt::format("{}: port {} is in use by another channel: give one of them another", end->name(), port));
  e.end = end;
  end->number_of_end = ++num_opened_;
  const bool resumes = e.so_far != nullptr && e.peer_so_far == end->peer_identity;
  if (resumes) end->resume(*std::exchange(e.so_far, nullptr));
  for (parked_message& m : take_if(e.early, [&](const channel_message& m) { return e.takes(m); })) give(*end, m.take());
  return resumes;
}

void port_table::deliver(int port, channel_message&& m) {
  entry& e = at(port);
  if (e.takes(m)) {
    give(*e.end, std::move(m));
  } else {
    e.keep(std::move(m));
  }
}

std::vector<port_message> port_table::take_bound(bool to_other_process) {
  std::vector<port_message> all;
  for (entry& e : entries_) {
    if (e.end != nullptr) {
      for (channel_message& m : e.end->take_bound(to_other_process)) all.push_back({e.port, std::move(m)});
    }
    for (parked_message& m : take_if(e.early, [&](const channel_message& m) { return m.is_bound(to_other_process); }))
      all.push_back({e.port, m.take()});
  }
  return all;
}

std::vector<port_state> port_table::leave() {
  std::vector<port_state> all;
  for (entry& e : entries_) {
    port_state s{e.port, e.end != nullptr || e.so_far != nullptr, e.peer_so_far, {}, {}, std::move(e.before)};
    if (e.end != nullptr) {
      s.peer = e.end->peer_identity;
      s.so_far = e.end->leave(s.come);
    } else if (e.so_far != nullptr) {
      s.so_far = *std::exchange(e.so_far, nullptr);
    }
    for (parked_message& m : std::exchange(e.early, {})) s.come.push_back(m.take());
    if (s.was_open || !s.come.empty() || !s.before.empty()) all.push_back(std::move(s));
  }
  return all;
}

void port_table::arrive(std::vector<port_state>&& all) {
  for (port_state& s : all) {
    entry& e = at(s.port);
    if (s.was_open) e.so_far = std::make_unique<const channel_progress>(s.so_far);
    e.peer_so_far = s.peer;
    e.before = std::move(s.before);
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
