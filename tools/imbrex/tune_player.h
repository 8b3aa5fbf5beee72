#pragma once

#include <imbrex/comm/data/protocol.h>
#include <imbrex/imbrex.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace tune {

/// What both players are to do: `trips` times there and back, by the table.
struct plan {
  imbrex::memory_kind of = imbrex::memory_kind::host;
  imbrex::protocol_table table;
  std::uint64_t bytes = 0;
  int trips = 1;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & of & table & bytes & trips;
  }
};

struct outcome {
  std::int64_t ns = 0;
  std::array<std::uint64_t, 4> sent{};  ///< messages that went each way, as `data_mover::num_sent` counts them

  template <class Archive>
  void serialize(Archive& ar) {
    ar & ns & sent;
  }
};

struct place {
  std::string machine;
  std::string gpu;  ///< its name; empty: none

  template <class Archive>
  void serialize(Archive& ar) {
    ar & machine & gpu;
  }
};

class end_of_table;

/// One of the two chares that pass messages through a channel: player 0 in rank 0, player 1 in rank 1.
class player : public imbrex::chare<player, imbrex::index1d> {
 public:
  player();
  ~player();

  /// \name For the main chare, which calls both players and awaits both
  ///@{
  place where();
  /// Makes the channel of that kind of memory, for messages up to `largest` bytes.
  imbrex::task<> open(imbrex::memory_kind of, std::uint64_t largest);
  imbrex::task<outcome> measure(plan p);
  imbrex::task<> close();
  ///@}

  imbrex::when<int> met;  ///< the other player stands at this point

 private:
  imbrex::task<> meet();
  bool serves() const { return index().x == 0; }

  std::array<std::unique_ptr<end_of_table>, 2> ends_;  // of host and of device memory
  int num_meetings_ = 0;
};

}  // namespace tune
