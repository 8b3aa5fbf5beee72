#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/entry/index.h"

namespace imbrex {

/// What the homes of singletons are yet to be told by this PE: which have been made here, which have ended here. Told
/// several at a time, of one home and class; at the latest when the PE's loop has come round a few times, and before it
/// idles, so that quiescence waits for it. For the PE's thread.
class home_news {
 public:
  explicit home_news(chare_pe& pe);
  home_news(const home_news&) = delete;
  home_news& operator=(const home_news&) = delete;

  /// Singleton `i` of another home lives here now, as of `epoch`.
  void made(pe_id home, collection_id array, const no_index& i, std::uint64_t epoch) { add(home, array, {i, epoch}); }
  void ended(pe_id home, collection_id array, const no_index& i) {
    if (!all_.empty() && home == home_ && array == array_ && all_.back().index == i) {
      all_.back().epoch = has_ended;
    } else {
      add(home, array, {i, has_ended});
    }
  }
  /// The job ends.
  void discard() { all_.clear(); }

  static constexpr std::uint64_t has_ended = UINT64_MAX;
  struct piece {
    no_index index;
    std::uint64_t epoch = 0;  ///< or `has_ended`
  };

 private:
  static constexpr std::size_t most = 32;
  static constexpr int most_rounds = 16;

  struct turn : work {
    home_news* of = nullptr;
    bool is_queued = false;
    int rounds = 0;
  };
  void add(pe_id home, collection_id array, const piece& p) {
    if (home != home_ || !(array == array_) || all_.size() >= most) tell();
    home_ = home;
    array_ = array;
    all_.push_back(p);
    if (!turn_.is_queued) queue_turn();
  }
  void queue_turn();
  void have_turn();
  void tell();

  chare_pe& pe_;
  turn turn_;
  pe_id home_ = no_pe;
  collection_id array_;
  std::vector<piece> all_;
};

}  // namespace imbrex
