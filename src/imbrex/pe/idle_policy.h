#pragma once

#include <cstdint>

namespace imbrex {

class scheduler;

/// How a PE waits once a step has found nothing to do. One for each PE, for whose thread it is.
class idle_policy {
 public:
  idle_policy() = default;
  idle_policy(const idle_policy&) = delete;
  idle_policy& operator=(const idle_policy&) = delete;
  virtual ~idle_policy() = default;

  /// Returns once there is something to do, or may be (`scheduler::has_something`). Meanwhile it goes on looking where
  /// nothing is posted by itself (`scheduler::look`), and says how long it has been (`scheduler::is_idle_since`).
  virtual void wait(scheduler& pe) = 0;
};

/// Spins briefly, since the next message is often a microsecond away and waking a sleeping thread costs tens; then
/// sleeps, or, where a network or GPUs have to be looked at, naps.
class spin_then_sleep final : public idle_policy {
 public:
  explicit spin_then_sleep(std::int64_t spin_ns) : spin_ns_(spin_ns) {}
  void wait(scheduler& pe) override;

 private:
  struct spell;
  bool comes_at_once(scheduler& pe);
  void let_some_more_come(const scheduler& pe, std::uint64_t began);
  void spin(scheduler& pe, spell& s);
  static void nap(scheduler& pe, const spell& s);

  const std::int64_t spin_ns_;
  /// \name Whether small messages come one after another (`let_some_more_come`)
  ///@{
  std::uint64_t last_time_ = 0;  // cycles
  std::uint64_t collected_before_ = 0;
  int num_floods_ = 0;
  ///@}
};

}  // namespace imbrex
