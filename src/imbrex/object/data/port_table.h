#pragma once

#include <algorithm>
#include <vector>

#include "imbrex/comm/data/channel_end.h"

namespace imbrex {

class scheduler;
struct element_base;

/// The end of a channel at a port of an element.
struct port_end : channel_end {
  using channel_end::channel_end;
  virtual ~port_end() = default;
  /// Whether the other end is thought to live in this process.
  virtual bool stays_in_process(scheduler& pe) const = 0;

  element_base* self = nullptr;  ///< on the PE where it lives
  int port = 0;
};

/// The ends of channels of one element, by port number. What comes for a port that is not open yet is kept.
class port_table {
 public:
  /// Throws `usage_error` when the port has an end already.
  void open(int port, port_end* end);
  void close(int port) { at(port).end = nullptr; }
  void deliver(int port, channel_message&& m);
  /// Whether no end is open, and nothing has come for one.
  bool empty() const {
    return std::ranges::all_of(entries_, [](const entry& e) { return e.end == nullptr && e.early.empty(); });
  }
  /// Whether something has come that was not received.
  bool has_messages() const {
    return std::ranges::any_of(entries_, [](const entry& e) {
      return (e.end != nullptr && e.end->has_messages()) ||
             std::ranges::any_of(e.early, [](const parked_message& m) { return m.is_send(); });
    });
  }
  /// Calls `f` for each end that is open.
  template <class F>
  void for_each_end(F f) const {
    for (const entry& e : entries_) {
      if (e.end != nullptr) f(*e.end);
    }
  }

 private:
  struct entry {
    explicit entry(int p) : port(p) {}
    int port;
    port_end* end = nullptr;
    std::vector<parked_message> early;
  };
  entry& at(int port);

  std::vector<entry> entries_;
};

}  // namespace imbrex
