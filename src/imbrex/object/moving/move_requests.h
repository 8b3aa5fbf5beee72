#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "imbrex/device/stream_drain.h"
#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/collection/element.h"

namespace imbrex {

/// The elements of a PE that are to move and cannot yet, since something binds them (`binding_of`): each is tried again
/// after its code has run, before one of its coroutines goes on whose wait is over, and when its last tie has gone. A
/// program in which nothing waits to move pays nothing.
class move_requests final : public pe_part, actor_observer {
 public:
  explicit move_requests(chare_pe& pe) : pe_(pe) {}
  ~move_requests() override;
  /// Of `pe`; made with the first use.
  static move_requests& of(chare_pe& pe);

  /// `request`, which moves `e`, is performed again later; an earlier one is forgotten.
  void keep(element_base& e, work* request);
  /// `e` is not to move any more.
  static void forget(chare_pe& pe, element_base& e);
  std::size_t num_waiting() const { return num_waiting_; }
  /// Says once for each array that `e` does not go to another process since one of its coroutines, which goes on and
  /// on, cannot be called again there. Those that end soon are no reason: not before so many tries.
  void warn(const element_base& e, pe_id to);
  static constexpr int tries_to_warn = 100;
  /// A coroutine of `e`, which is to move, has come to a move point: it is tried at once.
  void try_now(element_base& e) { try_again(e); }
  /// Calls `f` from the PE's loop when these streams of `e` are idle. Until then nothing of `e` runs.
  void when_idle(const element_base& e, std::vector<stream*> streams, std::function<void()> f);
  /// It does not move now: coroutines that stand at move points go on.
  static void go_on_at_points(element_base& e);

 private:
  void run_changes(const actor* from, const actor* to, std::int64_t now) override;
  void has_left(const actor& a) override;
  static bool goes_on_elsewhere(waiter& w);
  void try_again(element_base& e);
  void one_fewer();

  chare_pe& pe_;
  std::size_t num_waiting_ = 0;
  std::vector<const collection*> warned_of_;
  std::unordered_map<const element_base*, stream_drain> draining_;
};

}  // namespace imbrex
