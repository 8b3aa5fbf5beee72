#pragma once

#include <vector>

#include "imbrex/comm/data/channel_end.h"

namespace imbrex {

/// The ends of channels of one element, by port number. What comes for a port that is not open yet is kept.
class port_table {
 public:
  /// Throws `usage_error` when the port has an end already.
  void open(int port, channel_end* end);
  void close(int port) { at(port).end = nullptr; }
  void deliver(int port, channel_message&& m);

 private:
  struct entry {
    explicit entry(int p) : port(p) {}
    int port;
    channel_end* end = nullptr;
    std::vector<parked_message> early;
  };
  entry& at(int port);

  std::vector<entry> entries_;
};

}  // namespace imbrex
