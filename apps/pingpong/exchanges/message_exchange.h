#pragma once

#include "exchanges/channel_exchange.h"
#include "exchanges/exchange.h"
#include "exchanges/staged_memory.h"

namespace pingpong {

class player;

/// By GPU messages: an entry method whose argument is a device_view. What comes lies in the player's own GPU memory
/// afterwards, as with a channel: the post method says where, and what is read in the sender's memory is copied.
class message_exchange final : public exchange {
 public:
  message_exchange(player& self, const equipment& e, host_waits waits);

  ix::task<> rally(std::size_t bytes, int trips) override;
  ix::task<> burst(std::size_t bytes, int rounds) override;
  ix::task<> fill(std::size_t bytes, std::uint64_t round) override;
  ix::task<std::uint64_t> wrong(std::size_t bytes, std::uint64_t round) override;
  void expect(const plan& p) override;

  /// \name What has come for the player's entry method
  ///@{
  ix::task<> parcel(ix::device_view<std::byte> data);
  ix::buffer_view<std::byte> place(std::size_t bytes) const { return memory_.in(bytes); }
  ///@}

 private:
  void send(std::size_t bytes, ix::stream& s);
  bool host_waits_now() const;
  ix::task<> answer_window(ix::stream& s);

  player& self_;
  const int window_;
  const int chain_;
  const host_waits waits_;
  staged_memory memory_;
  bool of_window_ = false;  // what comes belongs to a burst
  int left_ = 0;            // trips, or windows, to come
  int left_of_window_ = 0;
  int last_ = 0;  // number of the rally or burst
};

}  // namespace pingpong
