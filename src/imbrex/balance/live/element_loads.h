#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "imbrex/balance/live/device_shares.h"
#include "imbrex/device/usage_meter.h"
#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/collection/element.h"
#include "imbrex/object/collection/element_traffic.h"

namespace imbrex {

/// What one element has cost since it was measured last, as its PE tells it.
struct element_load {
  std::uint64_t identity = 0;  ///< of its array and index: the same wherever it is
  pe_id pe = no_pe;
  std::int64_t host_ns = 0;
  std::int64_t gpu_ns = 0;  ///< that it kept its GPU busy; known once the operations of all are together
  bool pinned = false;
  bool crosses_processes = false;  ///< at once or from its next move point
  std::int32_t num_dimensions = 0;
  std::array<double, 3> place{};
  std::uint64_t host_bytes = 0;  ///< of its state, where that was asked for and its class can be serialised
  std::uint64_t device_bytes = 0;

  bool is_idle() const { return host_ns == 0 && gpu_ns == 0; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & identity & pe & host_ns & pinned & crosses_processes & num_dimensions& place[0] & place[1] & place[2];
    ar & host_bytes & device_bytes;
  }
};

/// Operations of one GPU that a sample has seen; `whose`: the place of the element among all.
struct gpu_operations {
  std::uint32_t gpu = 0;  ///< tells it from all others of the job
  std::vector<timed_operation> all;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & gpu & all;
  }
};

/// What was measured on one PE.
struct measured_pe {
  static constexpr std::int32_t none = -1;

  pe_id pe = no_pe;
  std::int32_t gpu = none;  ///< the one that it drives, where its operations can be measured
  std::uint64_t gpu_free_bytes = 0;
  std::int64_t interval_ns = 0;  ///< in which its elements ran what is told of them
  std::uint64_t num_moves = 0;   ///< elements that have left it so far
  std::int64_t moving_ns = 0;    ///< what it has done for moves so far
  double speed = 1;              ///< compared with those of the others
  double gpu_speed = 1;          ///< the same of its GPU

  template <class Archive>
  void serialize(Archive& ar) {
    ar & pe & gpu & gpu_free_bytes & interval_ns & num_moves & moving_ns & speed & gpu_speed;
  }
};

/// Of some PEs: the elements of one PE lie together, in the order in which it keeps them.
struct element_loads {
  std::vector<element_load> all;
  std::vector<measured_pe> pes;
  std::vector<gpu_operations> operations;  ///< of each PE that has measured some
  std::vector<element_exchange> exchanges;

  element_loads& operator+=(element_loads&& more);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & all & pes & operations & exchanges;
  }
};

/// An element that was measured, and which of those of its index: it may have moved or ended since.
struct measured_element {
  element_base* element = nullptr;
  std::uint64_t epoch = 0;
};

/// When all PEs have told: how long each element kept its GPU busy in the interval, as far as the samples tell. The
/// operations are used up.
void share_gpus_out(element_loads& loads);

/// When all PEs have told: speeds become rates, of which the highest is 1 (`rates_of`), and what elements have cost
/// what it would have been there.
void refer_to_the_fastest(element_loads& loads, bool speeds_are_measured);

/// The elements of `pe` with what they ran by `times`; in `measured`, in the same order.
element_loads loads_of(const chare_pe& pe, const std::unordered_map<const actor*, std::int64_t>& times,
                       std::vector<measured_element>& measured);
/// To them, how many bytes each has, in memory of the host and of devices, as far as that is known (`known_size`);
/// `anew`: it is asked for once more.
void add_sizes(element_loads& loads, chare_pe& pe, const std::vector<measured_element>& measured, bool anew);
/// To them, what each has sent by entry messages (`chare_pe::traffic`) and channels since this was called last.
void add_exchanges(element_loads& loads, chare_pe& pe, const std::vector<measured_element>& measured);
/// To them, what `meter`, if any, has measured; a new sample begins.
void add_operations(element_loads& loads, const scheduler& pe, usage_meter* meter,
                    const std::vector<measured_element>& measured);

}  // namespace imbrex
