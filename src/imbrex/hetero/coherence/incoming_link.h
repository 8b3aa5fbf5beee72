#pragma once

#include <cstdint>

#include "imbrex/hetero/lane.h"

namespace imbrex {

/// What brings a device's copies from the host, or from other devices: what is on its way, and how fast it comes, which
/// is learnt from copies large enough to tell. For the PE of the place.
class incoming_link {
 public:
  /// So fast until there is something to learn from. Copies of fewer bytes than `least_bytes` are not looked at.
  incoming_link(double bytes_per_ns, std::uint64_t least_bytes) : bytes_per_ns_(bytes_per_ns), least_(least_bytes) {}

  /// Whether a copy of so many bytes keeps the link busy for long.
  bool is_large(std::uint64_t bytes) const { return bytes >= least_; }
  /// A copy has been enqueued; it ends at `end`, of which the PE is told at once.
  void given(const lane_point& end, std::uint64_t bytes);
  /// Of large copies.
  std::uint64_t bytes_under_way() const { return under_way_; }
  double bytes_per_ns() const { return bytes_per_ns_; }
  /// Until `more` bytes would have come, after those that are under way.
  double ns_for(std::uint64_t more) const { return static_cast<double>(under_way_ + more) / bytes_per_ns_; }

 private:
  struct arrival;
  void come(std::uint64_t bytes, std::int64_t given_ns);

  double bytes_per_ns_;
  const std::uint64_t least_;
  std::uint64_t under_way_ = 0;
  std::int64_t last_came_ns_ = 0;
};

}  // namespace imbrex
