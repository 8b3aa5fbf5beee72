#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "imbrex/hetero/coherence/missing_data.h"
#include "imbrex/hetero/coherence/place.h"
#include "imbrex/hetero/task_node.h"

namespace imbrex {

class cost_store;

/// What a policy sees of the domain.
class placement_view {
 public:
  virtual ~placement_view() = default;
  /// The host first.
  virtual const std::vector<std::unique_ptr<place>>& places() const = 0;
  /// Whether the task may run there, and its data could ever fit.
  virtual bool eligible(const task_node& t, const place& p) const = 0;
  /// What would have to be brought there.
  virtual missing_data missing(const task_node& t, const place& p) const = 0;
  std::uint64_t missing_bytes(const task_node& t, const place& p) const { return missing(t, p).bytes(); }
  /// Whether the place takes one more task now.
  virtual bool has_room(const place& p) const = 0;
};

/// Decides the order of tasks that could run, and where each does (Thomadakis and Chrisochoides 2024, 3.1.4). Called on
/// the domain's PE, never from inside itself.
class placement_policy {
 public:
  struct choice {
    task_node* task = nullptr;
    place* at = nullptr;
  };
  virtual ~placement_policy() = default;
  /// All that it waits for has happened, or is enqueued. The policy keeps it until `pop` gives it.
  virtual void push(task_node& t) = 0;
  /// The next task and an eligible place with room; nothing while there is none.
  virtual choice pop(const placement_view& view) = 0;
  /// Nanoseconds that such a task is expected to take there; negative: nothing is known.
  virtual double expected_ns(const task_node& t, const place& p) {
    static_cast<void>(t), static_cast<void>(p);
    return -1;
  }
  /// Whether it wants to be told by `finished` what each task took that `pop` gave; 0 of one that never ran.
  virtual bool learns() const { return false; }
  virtual void finished(const task_node& t, std::int64_t nanoseconds) {
    static_cast<void>(t), static_cast<void>(nanoseconds);
  }
};

/// Makes a policy for one PE, on its thread.
using policy_factory = std::function<std::unique_ptr<placement_policy>()>;
/// From now on, policies of this name can be asked for: `--imbrex-task-policy=NAME`, or `hetero_options::policy`.
/// Before `imbrex::run`. Throws `usage_error` when there is one of that name.
void add_placement_policy(const std::string& name, policy_factory make);

/// "locality" (the default): the task whose data are there already goes first, on a device if it can run on one, and
/// where its data are, unless that device has as many tasks as streams and another one has none;
/// "round_robin": in order of submission, device after device; "shortest_finish": where it will be over first, by what
/// tasks of this name and size took before: as `costs` knows, which may be null, outlives the policy, and is told what
/// this one learns; or one of the program's own. Throws `config_error` for other names.
std::unique_ptr<placement_policy> make_placement_policy(std::string_view name, cost_store* costs = nullptr);

}  // namespace imbrex
