#pragma once

#include <imbrex/imbrex.h>

#include <array>
#include <memory>
#include <vector>

#include "exchanges/exchange.h"
#include "plan.h"

namespace pingpong {

class entry_exchange;
class message_exchange;

/// One of the two chares that exchange messages: player 0 on PE 0, player 1 on the last PE.
class player : public ix::chare<player, ix::index1d> {
 public:
  player();
  ~player();

  /// \name For the referee, who calls both players and awaits both
  ///@{
  place where();
  /// Makes an end of every mode named.
  ix::task<> open(equipment e);
  /// Player 0's outcome has the time from the first message to the last.
  ix::task<outcome> measure(plan p);
  ix::task<> close();
  ///@}

  /// \name Between the players
  ///@{
  ix::when<int> met;                                   ///< the other one stands at this point
  ix::when<int> acked;                                 ///< it has got this window
  ix::when<int> over;                                  ///< to oneself: the last message of a rally or burst has come
  void ball(std::vector<std::byte> b);                 ///< of a rally by entry methods
  void shot(std::vector<std::byte> b);                 ///< of a burst
  void tick(std::uint64_t number);                     ///< of the rate test
  void tick_with_others(std::uint64_t number);         ///< the same, several in a message between processes
  ix::task<> parcel(ix::device_view<std::byte> data);  ///< of rallies and bursts by GPU messages
  ix::buffer_view<std::byte> post(ix::for_entry<&player::parcel>, std::size_t size);  ///< where it is to lie
  ix::global_pointer<std::byte> exposed_by(mode m);  ///< the memory of a mode of puts or gets
  using aggregated = ix::entries<&player::tick_with_others>;
  ///@}

  int me() const { return index().x; }
  bool serves() const { return me() == 0; }
  ix::element_proxy<player> other() const { return array()[1 - me()]; }
  ix::device& gpu_of_other() const;
  /// Whom parcels are for.
  void take_parcels(message_exchange* of) { parcels_for_ = of; }
  /// Numbers of windows, the same at both players.
  int next_window() { return ++num_windows_; }

 private:
  ix::task<> meet();
  ix::task<> play(exchange& x, plan p);
  std::unique_ptr<exchange> make(mode m, const equipment& e);

  std::array<std::unique_ptr<exchange>, all_modes.size()> ends_;
  std::unique_ptr<entry_exchange> entries_;  // always there, for the rate test too
  message_exchange* parcels_for_ = nullptr;
  int num_meetings_ = 0;
  int num_windows_ = 0;
};

}  // namespace pingpong
