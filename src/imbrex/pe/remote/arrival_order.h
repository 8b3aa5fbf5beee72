#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/base/ids.h"
#include "imbrex/comm/message.h"

namespace imbrex {

/// A message whose large arrays are on their way; see parted_message.h. As work it is performed, and ends.
struct arrival : work {
  pe_id from = no_pe;
  bool is_given_up = false;  ///< nobody waits for it any more
};

/// Keeps the messages from one PE in their order while large arrays of some are on their way: a message waits for those
/// before it from the same PE that are at least as urgent. For the PE's thread.
class arrival_order {
 public:
  explicit arrival_order(executor& pe) : pe_(pe) {}
  ~arrival_order() { discard(); }
  arrival_order(const arrival_order&) = delete;
  arrival_order& operator=(const arrival_order&) = delete;

  /// Whether anything waits.
  bool any() const { return !from_.empty(); }
  /// A message whose arrays are on their way has come, in its turn.
  void expect(arrival* a);
  /// Keeps `m` if it must wait, until it is queued again with `in_turn` as its function; false when it need not.
  bool hold(wire_message* m, work::function in_turn);
  /// The arrays of `a` are here: performs it, at once or in its turn; queues what waited for it.
  void complete(arrival* a);
  /// The arrays of `a` will not come, since the job ends: it is discarded.
  void give_up(arrival* a);
  /// The job ends: discards what waits. An arrival whose arrays are still being written is given up.
  void discard();

 private:
  struct waiting {
    work* item;
    bool is_ready;
  };
  /// Takes out of `line` what waits for nothing any more.
  static std::vector<work*> take_ready(std::vector<waiting>& line);

  executor& pe_;
  std::unordered_map<pe_id, std::vector<waiting>> from_;
};

}  // namespace imbrex
