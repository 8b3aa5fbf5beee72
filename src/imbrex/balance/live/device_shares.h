#pragma once

#include <cstdint>
#include <vector>

namespace imbrex {

/// An operation of one device: `whose` it was, when its stream had come to it, and when it had ended.
struct timed_operation {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t whose = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & begin_ns & end_ns & whose;
  }
};

/// How long each kept the device busy, of the operations that were seen.
struct device_shares {
  std::vector<std::int64_t> busy_ns;  ///< by `whose`
  std::int64_t all_ns = 0;            ///< of all, each moment once: at most `span_ns`
  std::int64_t span_ns = 0;           ///< from the first begin to the last end
};

/// What time stamps around operations tell of a device that several streams share. The wall time of an operation is no
/// measure: it begins when its stream has come to it, and may then wait for operations of other streams; small ones
/// that wait for large ones would seem as large. So a moment belongs to the operation that ends first, of those whose
/// streams have come to them: exact where they run one after the other, as those do that fill the device; where some
/// run beside each other the sum is right and each gets a part of it. A moment at which nobody wants the device is
/// nobody's. `operations` come in any order and are sorted; `num`: how many `whose` there are.
device_shares shares_of(std::vector<timed_operation>& operations, std::size_t num);

}  // namespace imbrex
