#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "imbrex/comm/data/channel_end.h"

namespace imbrex {

class scheduler;
struct element_base;

/// The end of a channel at a port of an element.
struct port_end : channel_end {
  using channel_end::channel_end;
  ~port_end() override = default;
  /// Whether the other end is thought to live in this process.
  virtual bool stays_in_process(scheduler& pe) const = 0;
  /// The other end tells of itself.
  virtual void meet(const channel_hello& hello) = 0;
  /// Tells the other end where this one is now: its chare has moved.
  virtual void tell_of_move(scheduler& pe) = 0;

  element_base* self = nullptr;     ///< on the PE where it lives
  std::uint64_t identity = 0;       ///< of its chare (`element_identity`)
  std::uint64_t peer_identity = 0;  ///< of the chare that holds the other end
  std::uint32_t life = 0;           ///< of its chare: how often one of this index has been inserted
  std::uint32_t number_of_end = 0;  ///< among all of its chare's, in the order in which they were opened
  int port = 0;
  int peer_port = 0;
};

/// The channels with one chare that a port has served, one after another: of its ends each that sends is received from
/// by one here, the next that sends by the next.
struct port_history {
  std::uint64_t peer = 0;      ///< `port_end::peer_identity`
  std::uint32_t received = 0;  ///< the opening that was received from last; 0: nothing has come
  std::uint32_t sent = 0;      ///< how many ends here have sent to the port of the same number there

  template <class Archive>
  void serialize(Archive& ar) {
    ar & peer & received & sent;
  }
};

/// What goes to another process of one port: of the channel that was open there, and what has come for it.
struct port_state {
  int port = 0;
  bool was_open = false;
  std::uint64_t peer = 0;  ///< of what was open (`port_end::peer_identity`)
  channel_progress so_far;
  std::vector<channel_message> come;
  std::vector<port_history> before;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & port & was_open & peer & so_far & come & before;
  }
};

/// A message that has come for a port.
struct port_message {
  int port = 0;
  channel_message message;
};

/// The ends of channels of one element, by port number. A port may serve one channel after another: what comes for one
/// that is not open, or not yet, is kept, whichever is open meanwhile: the next one's other end may have sent already.
class port_table {
 public:
  /// `end` goes on where another process left the channel of this port to the same chare, if it did: then true. Throws
  /// `usage_error` when the port has an end already.
  bool open(int port, port_end* end);
  void close(int port) { at(port).end = nullptr; }
  void deliver(int port, channel_message&& m);
  /// What the messages of `end` say that they were sent by; with its first.
  std::uint32_t next_opening(const port_end& end);
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

  /// Of what has come what must be packed before it can follow the element (`channel_message::is_bound`).
  std::vector<port_message> take_bound(bool to_other_process);
  /// \name The element goes to another process, is made anew there, and opens its channels again sooner or later
  ///@{
  std::vector<port_state> leave();
  void arrive(std::vector<port_state>&& all);
  /// A port whose channel came along and that has not been opened here; -1: there is none.
  int first_unopened() const;
  ///@}

 private:
  struct entry {
    explicit entry(int p) : port(p) {}
    int port;
    port_end* end = nullptr;
    std::vector<parked_message> early;
    std::unique_ptr<const channel_progress> so_far;  // of a channel that came along and is not open yet
    std::uint64_t peer_so_far = 0;                   // its other chare
    std::vector<port_history> before;

    port_history& history(std::uint64_t peer);
    bool is_next(const channel_message& m);
    bool takes(const channel_message& m);
    void keep(channel_message&& m);
  };
  entry& at(int port);

  std::uint32_t num_opened_ = 0;
  std::vector<entry> entries_;
};

}  // namespace imbrex
