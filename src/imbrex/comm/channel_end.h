#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "imbrex/async/activity.h"
#include "imbrex/base/aligned_bytes.h"
#include "imbrex/base/serialize.h"
#include "imbrex/comm/lent_buffer.h"
#include "imbrex/comm/race_check.h"
#include "imbrex/device/device.h"

/// The receiving half of a channel: puts messages in order and matches them with receives, first with first. Knows
/// nothing of chares; the object layer carries the messages.
namespace imbrex {

/// One `send` on its way. Inside a process the sender's own bytes, lent; from another rank a copy in host memory.
struct channel_message {
  std::uint64_t sequence = 0;
  std::uint64_t element_type = 0;  ///< hash of the element type's name
  std::uint32_t element_bytes = 1;
  lent_buffer lent;
  aligned_bytes copied;                 ///< aligned to 64 bytes
  device* on = nullptr;                 ///< whose memory the lent bytes are; null: host memory
  event ready;                          ///< with `on`: the point after which they are there
  std::shared_ptr<race_check> checked;  ///< null unless races are looked for

  /// The receiver has read the lent bytes, or, of a GPU, enqueued what does on `reader`; gives them back.
  void give_back(stream* reader) {
    if (!lent.holds()) return;
    if (on != nullptr) {
      if (checked != nullptr) race_check::will_be_read(checked, *reader);
      lent.give_back_after(reader->record());
    } else {
      if (checked != nullptr) checked->was_read();
      lent = lent_buffer();
    }
  }

  const std::byte* data() const { return lent.holds() ? lent.data() : copied.data(); }
  std::uint64_t bytes() const { return lent.holds() ? lent.bytes() : copied.size(); }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & sequence & element_type & element_bytes;
    if constexpr (Archive::is_loading) {
      std::uint64_t n = 0;
      ar & n;
      copied.resize(n);
      ar.bytes(copied.data(), n);
    } else {
      std::uint64_t n = bytes();
      ar & n;
      if (on != nullptr) {  // to another process after all: the receiver was thought to be in this one
        std::vector<std::byte> on_host(n);
        on->read_now(on_host.data(), data(), n, ready);
        ar.bytes(on_host.data(), n);
      } else {
        ar.bytes(data(), n);
      }
    }
  }
};

/// A message that has come and waits for a receive. The memory lent with it is no operation under way meanwhile:
/// quiescence does not wait for a receive that may never come. For the PE that receives.
class parked_message {
 public:
  explicit parked_message(channel_message&& m) : message_(std::move(m)), counted_(message_.lent.holds()) {
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
  std::uint64_t received = 0;  ///< bytes, once matched
  channel_receive* next_receive = nullptr;
};

class channel_end {
 public:
  channel_end(std::string name, std::uint64_t element_type, std::uint32_t element_bytes)
      : name_(std::move(name)), element_type_(element_type), element_bytes_(element_bytes) {}
  ~channel_end() {
    if (gone_ != nullptr) *gone_ = true;
  }
  channel_end(const channel_end&) = delete;
  channel_end& operator=(const channel_end&) = delete;

  /// A message has come, in any order. Resumes the receive it completes. Throws `usage_error` when it does not fit it.
  void arrived(channel_message&& m);
  /// Tries to complete `r` with what has come; true when done: the copy stands in its stream.
  /// Receives that are waiting go first.
  bool try_receive(channel_receive& r);
  void wait(channel_receive* r);
  void forget(channel_receive* r);

  const std::string& name() const { return name_; }
  std::uint64_t next_sequence() { return next_sent_++; }
  std::uint64_t element_type() const { return element_type_; }
  std::uint32_t element_bytes() const { return element_bytes_; }

 private:
  void accept(channel_receive& r, channel_message&& m);
  void keep(channel_receive& r, channel_message&& m);

  std::string name_;
  std::uint64_t element_type_;
  std::uint32_t element_bytes_;
  std::uint64_t next_sent_ = 0;
  std::uint64_t next_expected_ = 0;
  std::deque<parked_message> ready_;               // in order
  std::map<std::uint64_t, parked_message> early_;  // ahead of a message that has not come yet
  channel_receive* first_waiting_ = nullptr;
  channel_receive* last_waiting_ = nullptr;
  bool* gone_ = nullptr;  // in `arrived`, while it resumes
};

}  // namespace imbrex
