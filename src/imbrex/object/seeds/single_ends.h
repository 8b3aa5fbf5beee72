#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "imbrex/object/entry/index.h"

namespace imbrex {

class scheduler;

/// Singletons that have ended on this PE and whose home is yet to be told: several at a time, of one home and class,
/// before the PE idles. Quiescence waits for that. For the PE's thread.
class single_ends {
 public:
  void add(scheduler& pe, pe_id home, collection_id array, const no_index& index) {
    if (home != home_ || !(array == array_) || ended_.size() >= most) tell(pe);
    home_ = home;
    array_ = array;
    ended_.push_back(index);
  }
  /// Tells what there is.
  void tell(scheduler& pe);
  std::size_t num_untold() const { return ended_.size(); }
  /// The job ends.
  void discard() { ended_.clear(); }

 private:
  static constexpr std::size_t most = 32;
  pe_id home_ = no_pe;
  collection_id array_;
  std::vector<no_index> ended_;
};

}  // namespace imbrex
