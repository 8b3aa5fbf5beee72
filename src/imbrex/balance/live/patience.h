#pragma once

namespace imbrex {

/// Learns whether plans keep what they promise. What elements cost in an interval is partly chance: a plan that follows
/// chance promises an efficiency that never comes, and the moves are paid for each time. A plan whose promise was not
/// kept, as the next look shows, makes the job go without plans for some looks, twice as many each time in a row. And
/// no plan is worth its moves that promises less than three times what the efficiency differs by itself from look to
/// look.
class plan_patience {
 public:
  /// At a look: `measured` is the efficiency now, `promised` that after a plan that would pay. Whether to carry it out.
  bool tries(double measured, double promised);
  /// At a look that found no plan that would pay.
  void looks_only(double measured);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & tried_ & before_ & promised_ & wait_ & left_ & last_ & chance_;
  }

 private:
  static constexpr double kept = 0.25;         // of a promised gain, to call the promise kept
  static constexpr double smallest = 0.02;     // promised gain that is more than chance
  static constexpr int longest_wait = 64;      // looks
  static constexpr double most_chance = 0.05;  // as bad as it may be taken for

  void judge_last(double measured);
  double worth_trying() const;

  bool tried_ = false;
  double before_ = 1, promised_ = 1;  // of the last plan
  int wait_ = 0;                      // looks without a plan after the next promise that is not kept
  int left_ = 0;
  double last_ = -1;   // what was measured at the last look, if no plan was carried out since; else negative
  double chance_ = 0;  // how much it differs between looks without a plan
};

}  // namespace imbrex
