#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "imbrex/comm/data/protocol.h"
#include "imbrex/device/memory_kind.h"

/// From measured times to the sizes of `protocol_table`. Pure functions.
namespace imbrex {

/// For each size the times of a message one way, in us, one for each repeat.
using times_by_size = std::vector<std::vector<double>>;

/// One way that data were sent.
struct way_times {
  protocol_table::way by = protocol_table::way::packed;
  std::uint64_t chunk_bytes = 0;  ///< of staged data
  times_by_size us;
};

/// All ways that are possible for one kind of memory, at the same sizes, in ascending order.
struct protocol_times {
  memory_kind of = memory_kind::host;
  std::vector<std::uint64_t> sizes;
  std::vector<way_times> ways;
};

/// Precondition: at least one value.
double median(std::vector<double> values);

/// Whether the median of `a` is less than that of `b` by more than noise: twice the standard error of their difference,
/// estimated from the quartiles, and 2 %.
bool clearly_ahead(const std::vector<double>& a, const std::vector<double>& b);

/// The largest size that is to go by `before`, when all larger ones go by `after`: the split that loses least against
/// the faster way at each size, where what is not clearly ahead loses nothing; of equal splits the latest, so that
/// `after` begins where it is clearly ahead. So one outlier does not decide. 0: `after` at all sizes;
/// `protocol_table::always`: `before` at all; nothing: there is no clear difference at any size.
std::optional<std::uint64_t> switch_point(const std::vector<std::uint64_t>& sizes, const times_by_size& before,
                                          const times_by_size& after);

/// `otherwise` with what these times tell of it. What is packed ends at the largest size measured.
protocol_table choose_points(const protocol_times& measured, const protocol_table& otherwise);

}  // namespace imbrex
