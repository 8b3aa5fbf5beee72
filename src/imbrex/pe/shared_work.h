#pragma once

namespace imbrex {

/// Work of a PE that others may take before it is begun. A layer above keeps it (object/seeds); the PE's loop asks
/// here. For the PE's thread.
class shared_work {
 public:
  shared_work() = default;
  shared_work(const shared_work&) = delete;
  shared_work& operator=(const shared_work&) = delete;
  virtual ~shared_work() = default;

  /// The PE has nothing to do: takes some of another PE's, which it has to do then. False: there is none.
  virtual bool steal() = 0;
  /// Whether there seems to be some.
  virtual bool sees_offers() const = 0;
  /// The job ends: all of it is dropped.
  virtual void discard() = 0;
};

}  // namespace imbrex
