#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "imbrex/runtime/rank/pe_devices.h"
#include "imbrex/runtime/rank/rank_start.h"

namespace imbrex {
struct rank_context;
}  // namespace imbrex

namespace imbrex::detail {

/// Who runs the PEs of a rank in place of threads of its own: a run in virtual time.
class pe_driver {
 public:
  pe_driver() = default;
  pe_driver(const pe_driver&) = delete;
  pe_driver& operator=(const pe_driver&) = delete;
  virtual ~pe_driver() = default;

  /// Where the first of the ranks leaves what is the same for all of them.
  virtual std::optional<agreement_of_all>& agreement() = 0;
  /// The rank's devices beside the host's; null: there are none.
  virtual std::unique_ptr<pe_devices> open_devices() = 0;
  /// Takes over the PEs, which have not begun: gives them their time. `become` makes the thread that of one of them.
  virtual void take(rank_context& rank, std::function<void(std::size_t)> become) = 0;
  /// Until all of them have stopped.
  virtual void run() = 0;
};

}  // namespace imbrex::detail
