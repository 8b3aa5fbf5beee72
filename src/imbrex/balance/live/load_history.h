#pragma once

#include <cstdint>
#include <unordered_map>

#include "imbrex/balance/live/element_loads.h"

namespace imbrex {

/// One quantity, measured again and again: what it will be next. Measurements that differ as much as they use to are
/// averaged; one that differs much more is a change, and counts alone.
class load_estimate {
 public:
  load_estimate() = default;
  explicit load_estimate(double first) : mean_(first), deviation_(usual * first) {}
  void add(double measured);
  double value() const { return mean_; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & mean_ & deviation_;
  }

 private:
  static constexpr double usual = 0.05;            // mean deviation, of the value, at least, and before more is known
  static constexpr double weight = 0.25;           // of what is new
  static constexpr double deviation_weight = 0.1;  // the same for the deviation, which is to change slowly
  static constexpr double surprise = 4;            // deviations that are a change
  double mean_ = 0, deviation_ = 0;
};

/// What elements have cost at earlier looks, wherever they were. On PE 0.
class load_history {
 public:
  /// Puts in the place of what was measured what is expected of the next interval, if it is as long.
  void smooth(element_loads& loads);
  std::size_t size() const { return known_.size(); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & known_ & look_;
  }

 private:
  struct element_history {
    load_estimate host, gpu;
    std::uint32_t seen = 0;

    template <class Archive>
    void serialize(Archive& ar) {
      ar & host & gpu & seen;
    }
  };
  static constexpr std::uint32_t remembered = 8;  // looks without an element, after which it is forgotten

  std::unordered_map<std::uint64_t, element_history> known_;  ///< by identity; shares of an interval
  std::uint32_t look_ = 0;
};

}  // namespace imbrex
