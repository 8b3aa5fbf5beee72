#include "imbrex/object/data/port_table.h"

#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex {

void port_table::open(int port, port_end* end) {
  entry& e = at(port);
  if (e.end != nullptr) throw usage_error(fmt::format("{}: port {} is in use by another channel", end->name(), port));
  e.end = end;
  for (parked_message& m : std::exchange(e.early, {})) end->arrived(m.take());
}

void port_table::deliver(int port, channel_message&& m) {
  entry& e = at(port);
  if (e.end != nullptr) {
    e.end->arrived(std::move(m));
  } else {
    e.early.emplace_back(std::move(m));
  }
}

port_table::entry& port_table::at(int port) {
  for (entry& e : entries_) {
    if (e.port == port) return e;
  }
  return entries_.emplace_back(port);
}

}  // namespace imbrex
