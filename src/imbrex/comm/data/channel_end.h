#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "imbrex/async/activity.h"
#include "imbrex/base/memory/aligned_bytes.h"
#include "imbrex/base/serialize.h"
#include "imbrex/comm/data/data_mover.h"
#include "imbrex/comm/data/lent_buffer.h"
#include "imbrex/comm/data/race_check.h"
#include "imbrex/device/buffer.h"
#include "imbrex/device/device.h"

/// The receiving half of a channel: puts messages in order and matches them with receives, first with first. Knows
/// nothing of chares; the object layer carries the messages.
namespace imbrex {

class channel_end;

/// What one end of a channel knows of the other.
struct channel_peer {
  rank_id rank = -1;  ///< -1: it has not said so yet
  pe_id pe = no_pe;
  memory_kind kind = memory_kind::host;
  std::uint64_t epoch = 0;  ///< of its chare when it told of itself: newer knowledge wins
  std::uint32_t end = 0;    ///< which one of that chare's it is, in the order in which they were opened

  bool known() const { return rank >= 0; }
  /// Whether this was said before `other`.
  bool is_older_than(const channel_peer& other) const {
    return epoch != other.epoch ? epoch < other.epoch : end < other.end;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & rank & pe & kind & epoch & end;
  }
};

/// What an end of a channel tells the other of itself.
struct channel_hello {
  channel_peer peer;
  bool wants_answer = false;  ///< it does not know the other

  template <class Archive>
  void serialize(Archive& ar) {
    ar & peer & wants_answer;
  }
};

/// How far one end of a channel has come: what it takes along to another process, besides messages.
struct channel_progress {
  std::uint64_t next_sent = 0;
  std::uint64_t next_expected = 0;  ///< the first that has not been received
  std::uint32_t opening = 0;
  std::uint32_t peer_opening = 0;
  channel_peer peer;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & next_sent & next_expected & opening & peer_opening & peer;
  }
};

/// Bytes of a sender of this process, with what their readers have to know.
struct lent_bytes : lent_buffer {
  using lent_buffer::operator=;

  device* on = nullptr;                 ///< whose memory they are; null: host memory
  event ready;                          ///< with `on`: the point after which they are there
  std::shared_ptr<race_check> checked;  ///< null unless races are looked for
};

/// Memory of another process that is read where it is: for the end of a channel (`map`) or for a view (`offer`). Moving
/// it leaves nothing behind.
class bytes_in_place {
 public:
  bytes_in_place() = default;
  bytes_in_place(bytes_in_place&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), teller_(std::exchange(other.teller_, nullptr)) {}
  bytes_in_place& operator=(bytes_in_place&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(teller_, other.teller_);
    return *this;
  }

  /// `teller`, that of the PE that reads, tells the owner when they have been read.
  void map(const std::byte* data, data_mover* teller) {
    data_ = data;
    teller_ = data != nullptr ? teller : nullptr;
  }
  /// Whoever offered them is told by the view.
  void offer(const std::byte* data) { data_ = data; }

  const std::byte* data() const { return data_; }
  bool is_offered() const { return data_ != nullptr && teller_ == nullptr; }
  /// Ends the reading of what was mapped: who tells of it, once; else null.
  data_mover* unmap() {
    if (teller_ != nullptr) data_ = nullptr;
    return std::exchange(teller_, nullptr);
  }

 private:
  const std::byte* data_ = nullptr;
  data_mover* teller_ = nullptr;
};

/// One `send` on its way. Inside a process the sender's own bytes, lent; from another rank a copy in host memory, or
/// word of where the bytes are. Or no `send`, but the other end telling of itself (`is_hello`).
struct channel_message {
  std::uint64_t from = 0;  ///< whose it is, as `port_end::peer_identity` names its chare
  std::uint64_t sequence = 0;
  std::uint64_t element_type = 0;  ///< hash of the element type's name
  std::uint32_t element_bytes = 1;
  std::uint32_t opening : 30 = 0;  ///< which end it was sent by of those that were opened there one after another
  bool is_answer : 1 =
      false;  ///< what came from there before had been read, in the order of the stream that this was sent on
  bool is_hello : 1 = false;  ///< `copied` is what the other end tells
  lent_bytes lent;
  aligned_bytes copied;                       ///< aligned to 64 bytes
  buffer<std::byte> own;                      ///< the same in a device's memory
  data_elsewhere remote;                      ///< where they are, when they did not come along
  bytes_in_place in_place;                    ///< `remote`, without a copy
  std::shared_ptr<buffer<std::byte>> staged;  ///< a copy that will go along

  /// Whether its data are where only this PE fetches them, or, if it goes to another process, where only this one's
  /// devices read them.
  bool is_bound(bool to_other_process) const {
    return static_cast<bool>(remote) || (to_other_process && lent.on != nullptr);
  }

  static channel_message telling(const channel_hello& h) {
    channel_message m;
    m.is_hello = true;
    const std::vector<std::byte> bytes = to_bytes(h);
    m.copied.assign(bytes.data(), bytes.data() + bytes.size());
    return m;
  }
  /// Of one that is a hello.
  channel_hello hello() const {
    channel_hello h;
    from_bytes(std::vector<std::byte>(copied.data(), copied.data() + copied.size()), h);
    return h;
  }

  /// The receiver has put all that reads the bytes into `reader`, in whose order they are given back; null: it has read
  /// them. `pulled`: by `stream::pull` just now, whose end other devices learn of for nothing.
  void give_back(stream* reader, bool pulled = false) {
    if (data_mover* const teller = in_place.unmap(); teller != nullptr)
      reader->then("read", [teller, what = *remote] { teller->has_been_read(what); });
    if (own.data() != nullptr) reader->then("read", [held = std::move(own)] {});
    if (!lent.holds()) {
      if (reader != nullptr && !copied.empty()) reader->then("read", [held = std::move(copied)] {});
    } else if (lent.is_copy()) {
      reader->then("read", [held = lent_buffer(std::move(lent))] {});
    } else if (lent.on != nullptr) {
      if (lent.checked != nullptr) race_check::will_be_read(lent.checked, *reader);
      lent.give_back_after(pulled ? reader->record_for_others() : reader->record());
    } else if (reader != nullptr) {
      reader->then("read", [check = std::move(lent.checked), held = lent_buffer(std::move(lent))] {
        if (check != nullptr) check->was_read();
      });
    } else {
      if (lent.checked != nullptr) lent.checked->was_read();
      lent = lent_buffer();
    }
  }

  /// Whether somebody waits for memory that is read here, which counts as an operation under way.
  bool holds_memory_of_others() const { return lent.holds() || in_place.data() != nullptr; }

  const std::byte* data() const {
    return in_place.data() != nullptr ? in_place.data()
           : own.data() != nullptr    ? own.data()
           : lent.holds()             ? lent.data()
                                      : copied.data();
  }
  std::uint64_t bytes() const { return remote ? remote->bytes : lent.holds() ? lent.bytes() : copied.size(); }

  template <class Archive>
  void serialize(Archive& ar) {
    std::uint32_t opened = opening;
    bool answers = is_answer, tells = is_hello;
    ar & from & opened & answers & tells & sequence & element_type & element_bytes & remote;
    opening = opened;
    is_answer = answers;
    is_hello = tells;
    if (remote) return;
    if constexpr (Archive::is_loading) {
      std::uint64_t n = 0;
      ar & n;
      ar.check_count(n, 1);
      copied.resize(n);
      ar.bytes(copied.data(), n);
    } else {
      if (lent.on != nullptr)
        throw std::logic_error("a channel's message was to leave its process with memory of a GPU");
      std::uint64_t n = bytes();
      ar & n;
      ar.bytes(data(), n);
    }
  }
};

static_assert(sizeof(void*) != 8 || sizeof(channel_message) <= 200,
              "messages are moved several times on their way: what few of them need lies elsewhere");

/// A message that has come and waits for a receive. The memory lent with it is no operation under way meanwhile:
/// quiescence does not wait for a receive that may never come. For the PE that receives.
class parked_message {
 public:
  explicit parked_message(channel_message&& m)
      : message_(std::move(m)), counted_(message_.lent.holds() || message_.remote) {
    if (counted_) --executor::current()->operations;
  }
  parked_message(parked_message&& other) noexcept
      : message_(std::move(other.message_)), counted_(std::exchange(other.counted_, false)) {}
  parked_message& operator=(parked_message&&) = delete;
  ~parked_message() {
    if (counted_) ++executor::current()->operations;
  }
  channel_message take() {
    if (std::exchange(counted_, false)) ++executor::current()->operations;
    return std::move(message_);
  }
  /// Whether it is a `send`, and not the other end telling of itself.
  bool is_send() const { return !message_.is_hello; }
  /// As it came.
  const channel_message& message() const { return message_; }
  bool is_bound(bool to_other_process) const { return message_.is_bound(to_other_process); }

 private:
  channel_message message_;
  bool counted_;
};

/// Where one receive wants its bytes: copied to `to`, or, if `keep` is set, the message itself. In both cases what is
/// enqueued on `in_order_of` from then on sees them.
struct channel_receive : waiter {
  channel_message* keep = nullptr;
  void* to = nullptr;
  std::uint64_t capacity = 0;  ///< bytes
  memory_kind kind = memory_kind::host;
  stream* in_order_of = nullptr;
  std::uint64_t received = 0;       ///< bytes, once matched
  data_fetch* under_way = nullptr;  ///< matched, and its data are coming
  channel_receive* next_receive = nullptr;

 protected:
  /// \name For its awaiter; the end lives until after `leave`
  ///@{
  bool ready(channel_end& end);
  void wait(channel_end& end, std::coroutine_handle<> h);
  /// Throws `usage_error` when the end was closed meanwhile, or what came does not fit.
  void finish();
  void leave(channel_end& end);
  ///@}

 private:
  friend class channel_end;
  enum class phase {
    apart,    // not waiting, or matched
    waiting,  // in the queue of the end
    refused,  // the end was closed, or what came does not fit; in the PE's queue
  };
  void refuse(std::exception_ptr why);
  static std::string what_is_awaited(const waiter* w);
  static const wait_mobility moves_with_its_end;

  phase phase_ = phase::apart;
  channel_end* end_of_wait_ = nullptr;  ///< for reports
  std::exception_ptr why_refused_;
};

/// What became of a receive that was tried.
enum class receive_state { nothing_there, under_way, complete };

/// One chare's end of a channel, without the type of its elements: what it has sent and what has come, by the ports of
/// its element. Of the PE that the element is on.
class channel_end {
 public:
  /// `mover` may be null where there is one rank only.
  channel_end(std::string name, std::uint64_t element_type, std::uint32_t element_bytes, data_mover* mover)
      : name_(std::move(name)), element_type_(element_type), element_bytes_(element_bytes), mover_(mover) {}
  virtual ~channel_end() {
    if (gone_ != nullptr) *gone_ = true;
  }
  channel_end(const channel_end&) = delete;
  channel_end& operator=(const channel_end&) = delete;

  /// A `send` has come, in any order. Resumes the receive it completes, with a `usage_error` when it does not fit that;
  /// then it is gone.
  void arrived(channel_message&& m);
  /// Tries to match `r` with what has come. `complete`: the copy stands in its stream. `under_way`: it will be resumed.
  /// Receives that are waiting go first.
  receive_state try_receive(channel_receive& r);
  void wait(channel_receive* r);
  void forget(channel_receive* r);
  /// Nobody receives here any more: whoever waits, or tries to later, gets a `usage_error`. What has come is given
  /// back, also to other processes unless the job `is_ending`, when nothing is sent any more.
  void close(bool is_ending);

  const std::string& name() const { return name_; }
  /// Where its messages come from, for reports: " from port 2 of block(3)"; empty: that is not known here.
  virtual std::string from_where() const { return {}; }
  /// Numbers a message of so many bytes that is sent now, after `begins_to_send`.
  void number(channel_message& m, std::size_t bytes) {
    bytes_sent_ += bytes;
    m.sequence = next_sent_++;
    m.opening = opening_;
  }
  /// What its messages say that they were sent by, and those that it receives: 0 before the first.
  std::uint32_t opening() const { return opening_; }
  std::uint32_t peer_opening() const { return peer_opening_; }
  void begins_to_send(std::uint32_t opening) { opening_ = opening; }
  void begins_to_receive(std::uint32_t opening) { peer_opening_ = opening; }
  /// Of all messages sent since this was called last.
  std::uint64_t take_bytes_sent() { return std::exchange(bytes_sent_, 0); }
  std::uint64_t element_type() const { return element_type_; }
  std::uint32_t element_bytes() const { return element_bytes_; }
  /// What the other end has told of itself: where it was then, if it has ever been in another process.
  const channel_peer& peer() const { return peer_; }
  /// The other end tells of itself; what is older than what is known is not listened to: then false.
  bool note_peer(const channel_peer& p) {
    if (peer_.known() && p.is_older_than(peer_)) return false;
    peer_ = p;
    return true;
  }
  /// Whether something has come that was not received.
  bool has_messages() const { return !ready_.empty() || !early_.empty(); }
  data_mover* mover() const { return mover_; }

  /// \name Its chare moves
  ///@{
  /// To another process, where an end is made that goes on from here: gives what has come, in any order. No receive
  /// waits.
  channel_progress leave(std::vector<channel_message>& come);
  /// Goes on where another end left, before anything has come.
  void resume(const channel_progress& p);
  /// Those that have come and must be packed before they leave the PE, or the process (`is_bound`).
  std::vector<channel_message> take_bound(bool to_other_process);
  /// To the PE whose mover this is, with what has come and all who wait.
  void goes_to(data_mover* mover) { mover_ = mover; }
  ///@}

 private:
  bool accept(channel_receive& r, channel_message&& m);
  void check_fits(const channel_receive& r, const channel_message& m) const;
  bool keep(channel_receive& r, channel_message&& m);
  bool take_from_process(channel_receive& r, channel_message&& m);
  bool take_copy(channel_receive& r, channel_message&& m);
  void drop(parked_message&& parked, bool is_ending);

  std::string name_;
  std::uint64_t element_type_;
  std::uint32_t element_bytes_;
  data_mover* mover_;
  channel_peer peer_;
  std::uint32_t opening_ = 0;
  std::uint32_t peer_opening_ = 0;
  std::uint64_t next_sent_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t next_expected_ = 0;
  std::deque<parked_message> ready_;               // in order
  std::map<std::uint64_t, parked_message> early_;  // ahead of a message that has not come yet
  channel_receive* first_waiting_ = nullptr;
  channel_receive* last_waiting_ = nullptr;
  bool* gone_ = nullptr;  // in `arrived`, while it resumes
  bool closed_ = false;
};

inline bool channel_receive::ready(channel_end& end) { return end.try_receive(*this) == receive_state::complete; }

inline void channel_receive::wait(channel_end& end, std::coroutine_handle<> h) {
  end_of_wait_ = &end;
  suspend(h, &what_is_awaited, &moves_with_its_end);
  if (under_way != nullptr) return;
  phase_ = phase::waiting;
  end.wait(this);
}

inline void channel_receive::leave(channel_end& end) {
  if (under_way != nullptr) {
    under_way->abandon();
  } else if (phase_ == phase::waiting) {
    end.forget(this);
  } else if (phase_ == phase::refused && handle) {
    home->withdraw(this);
  }
}

}  // namespace imbrex
