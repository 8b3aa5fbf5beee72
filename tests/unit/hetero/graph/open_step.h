#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "step.h"
#include "unit/hetero/open_use.h"

namespace imbrex_test::stepped {

/// A step that stays open until the test ends it: what can happen to it next, one after the other. What is lent is read
/// twice, when it is open and when it ends.
class open_step {
 public:
  open_step(imbrex::hetero_domain& domain, const imbrex::hetero_object<std::uint64_t>& object, step_kind kind,
            std::uint64_t id, std::vector<std::uint64_t>& seen_first, std::vector<std::uint64_t>& seen_last)
      : kind_(kind),
        id_(id),
        use_(domain, *object.data(), mode_of(kind)),
        seen_first_(seen_first),
        seen_last_(seen_last) {
    held_ = kind != step_kind::lend;
  }

  bool can_step() const { return held_ || (use_.told && !ended_); }
  void step() {
    if (held_) {
      held_ = false;
      use_.task->let_go(kind_ == step_kind::receive_from_device);
    } else if (!begun_) {
      begun_ = true;
      enqueue(seen_first_);
    } else {
      if (kind_ == step_kind::lend) enqueue(seen_last_);
      ended_ = true;
      use_.task->end();
    }
  }
  bool ended() const { return ended_; }

 private:
  static imbrex::access_mode mode_of(step_kind kind) {
    if (kind == step_kind::lend) return imbrex::access_mode::read;
    return imbrex::access_mode::write;
  }
  void enqueue(std::vector<std::uint64_t>& seen) {
    const out memory(reinterpret_cast<std::uint64_t*>(use_.task->memory), elements);
    const auto act = [memory, &seen, lent = kind_ == step_kind::lend, id = id_] {
      if (lent) {
        seen.assign(memory.begin(), memory.end());
      } else {
        receive(id, memory);
      }
    };
    use_.task->order != nullptr ? use_.task->order->call("open", act) : act();
  }

  const step_kind kind_;
  const std::uint64_t id_;
  open_use use_;
  std::vector<std::uint64_t>&seen_first_, &seen_last_;
  bool held_ = false, begun_ = false, ended_ = false;
};

}  // namespace imbrex_test::stepped
