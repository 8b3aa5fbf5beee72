#pragma once

#include <memory>

namespace imbrex {

class hetero_domain;
class place;

/// Tasks that shall run at one place (StarPU's bundles): where the first of them runs that is placed, all that can run
/// there follow, whatever the policy would say of each alone. For tasks that use each other's data again and again,
/// which a policy that looks at one task at a time would deal out.
///
///     imbrex::task_bundle together;
///     imbrex::submit({.name = "a", .bundle = &together}, a, x, y);
///     imbrex::submit({.name = "b", .bundle = &together}, b, y, z);
///
/// May end before its tasks. Of one PE: `submit` throws `usage_error` for one with tasks of another. A task of the host
/// is at "the host", whichever PE takes it.
class task_bundle {
 public:
  struct state {
    hetero_domain* domain = nullptr;  ///< of its tasks; null: it has none yet
    place* at = nullptr;              ///< null: none has been placed
  };
  task_bundle() : state_(std::make_shared<state>()) {}

  /// For those who belong to it.
  const std::shared_ptr<state>& shared() const { return state_; }

 private:
  std::shared_ptr<state> state_;
};

}  // namespace imbrex
