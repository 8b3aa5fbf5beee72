#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "imbrex/async/work.h"
#include "imbrex/object/entry/broadcast_call.h"

/// A broadcast on one PE is given to the elements in slices of some microseconds, so that messages which move data get
/// their turn in between.
namespace imbrex {

class collection;

/// The invocations of one broadcast on one PE; stands in the ready queue between slices. Owns itself: `run` deletes it
/// when all elements have had theirs.
class broadcast_slices : public work {
 public:
  broadcast_slices(const broadcast_slices&) = delete;
  broadcast_slices& operator=(const broadcast_slices&) = delete;
  virtual ~broadcast_slices() = default;

  /// The first slice, now; the others from the PE's loop.
  void run(scheduler& pe);

 protected:
  broadcast_slices(std::vector<element_base*> elements, priority p);
  /// Gives it to these elements, each if it is still there.
  virtual void deliver(scheduler& pe, element_base* const* elements, std::size_t count) = 0;
  /// It goes on after others have run; called once.
  virtual void is_interrupted() {}

 private:
  static constexpr std::int64_t slice_ns = 20'000;
  static void perform(work* w, work_action action);

  std::vector<element_base*> elements_;
  std::size_t next_ = 0;
  bool interrupted_ = false;
};

/// A broadcast to a whole array. Numbered on each PE, so that an element can be told what it has not heard yet before
/// something else happens to it.
class array_broadcast final : public broadcast_slices {
 public:
  /// For the elements of `part` that are here and have not heard it elsewhere.
  array_broadcast(collection& part, std::vector<element_base*> elements, std::uint32_t number, priority p,
                  shared_call call);
  ~array_broadcast() override;

  std::uint32_t number() const { return number_; }
  /// Gives it to `e`, before its turn.
  void deliver_now(scheduler& pe, element_base& e);

 private:
  void deliver(scheduler& pe, element_base* const* elements, std::size_t count) override;
  void hear(scheduler& pe, element_base& e);
  /// Whether all have heard those before. Stays so while this is given to elements.
  bool is_first() const;
  /// Whether `e` is here and has not heard it yet: then it hears it now, after those before, if there are any.
  bool is_turn_of(element_base& e, bool first);
  void is_interrupted() override;
  void catch_up(element_base& e);

  collection& part_;
  const std::uint32_t number_;
  const shared_call call_;
};

}  // namespace imbrex
