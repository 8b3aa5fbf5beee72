#pragma once

#include <imbrex/balance/balance_plan.h>
#include <imbrex/balance/balance_record.h>

#include <cstdint>
#include <string>
#include <vector>

namespace balance_replay {

struct options {
  std::string file;
  std::vector<std::string> strategies;  ///< empty: all that this build has
  std::string picture;
  bool follow = false;  ///< a record begins with what the strategy has made of the one before

  std::string example;  ///< write one there instead
  int example_elements = 4096;
  int example_pes = 32;
  int example_gpus = 0;
  int example_steps = 4;
};

/// What a strategy made of a record.
struct outcome {
  std::string strategy;
  std::string why_not;  ///< it could not; the rest is empty then
  imbrex::judgement before, after;
  double plan_seconds = 0;
};

/// Of one record.
struct comparison {
  std::string program;
  std::int64_t step = 0;
  std::size_t num_elements = 0;
  std::vector<outcome> outcomes;
};

std::string table(const comparison& c);
/// Of all records: efficiencies and bytes on average, moves in all.
std::string summary(const std::vector<comparison>& all);
/// The loads of all PEs and GPUs before and after, for each strategy: an SVG.
std::string picture(const comparison& c);

}  // namespace balance_replay
