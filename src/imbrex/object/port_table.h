#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/comm/channel_end.h"

namespace imbrex {

/// The ends of channels of one element, by port number. What comes for a port that is not open yet is kept.
class port_table {
 public:
  void open(int port, channel_end* end) {
    entry& e = at(port);
    if (e.end != nullptr) throw usage_error(fmt::format("{}: port {} is in use by another channel", end->name(), port));
    e.end = end;
    for (parked_message& m : std::exchange(e.early, {})) end->arrived(m.take());
  }
  void close(int port) { at(port).end = nullptr; }
  void deliver(int port, channel_message&& m) {
    entry& e = at(port);
    if (e.end != nullptr) {
      e.end->arrived(std::move(m));
    } else {
      e.early.emplace_back(std::move(m));
    }
  }

 private:
  struct entry {
    explicit entry(int p) : port(p) {}
    int port;
    channel_end* end = nullptr;
    std::vector<parked_message> early;
  };
  entry& at(int port) {
    for (entry& e : entries_) {
      if (e.port == port) return e;
    }
    return entries_.emplace_back(port);
  }

  std::vector<entry> entries_;
};

}  // namespace imbrex
