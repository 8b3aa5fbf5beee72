#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "chares/block_place.h"
#include "chares/chare_deep_steps.h"
#include "chares/chare_single_steps.h"
#include "decomposition.h"
#include "options.h"
#include "result.h"
#include "support/exact_sum.h"
#include "support/iteration_progress.h"

namespace jacobi {

/// What all chares of a process read. Set before the job starts, from the command line, which is the same on all ranks.
struct chare_job {
  const options* given = nullptr;             ///< what is in force
  const options* of_command_line = nullptr;   ///< the same, but for `auto`
  apps::iteration_progress* shown = nullptr;  ///< rank 0 only
};
extern chare_job this_job;

/// How a repeat ended; the same for all blocks.
struct repeat_outcome {
  std::int64_t iterations = 0;
  bool converged = false;
  bool has_norm = false;
  double norm = 0;
  std::int64_t done_before = 0;  ///< iterations that were done before the job was restarted
};

/// One block of the grid (2022 paper, Figure 3): exchanges halos with its neighbours and updates itself, as its scheme
/// does. Nothing waits for all blocks: a block goes on when what it needs has come.
class block : public imbrex::chare<block, imbrex::index3d> {
 public:
  block();

  /// Sets the initial state, does the warm-up iterations and contributes when they are over. (Empty, or the reason why
  /// the input cannot be read: contributed as text.)
  imbrex::task<> prepare(std::int64_t done_before);
  /// Has the timed iterations done, after which a `repeat_outcome` is contributed.
  void iterate(std::int64_t done_before);
  /// Does those that are left. After each the block may move, also to another process, where this is called again.
  imbrex::task<> iterate_on();
  using restartable = imbrex::entry_list<&block::iterate_on>;

  /// The results of checks, by number: the limbs of the sum of the squared changes of all blocks.
  imbrex::when<std::int64_t, apps::exact_sum::limb_array> changes;

  /// Contributes this block's share of the field's hash.
  void hash();
  /// Writes this block into the outputs; contributes nothing, or the reason why it failed.
  void write(std::string suffix);
  /// Compares this block with what it should be, row-major without padding.
  verification compare(std::vector<double> expected);

  template <class Archive>
  void serialize(Archive& ar) {
    ar & reached_ & begun_ & shown_before_ & outcome_ & checks_ & consumed_ & changes;
    std::visit([&](auto& s) { s.serialize(ar); }, scheme_);
  }

 private:
  /// How many iterations one exchange is for, if there are `most` until something else is to be done.
  std::int64_t steps_within(std::int64_t most) const;
  /// Enqueues the next iterations; waits only until the neighbours' halos have come.
  imbrex::task<> advance(std::int64_t steps);
  cell_rows cells_now();

  const options& options_;
  const decomposition blocks_;
  const block_position position_;
  const box cells_;
  std::variant<single_steps, deep_steps> scheme_;
  std::int64_t begun_ = 0;         // iterations, those to warm up, too
  std::int64_t reached_ = 0;       // iterations of this repeat
  std::int64_t shown_before_ = 0;  // iterations before it, for the progress line
  repeat_outcome outcome_;
  apps::exact_sum change_;
  std::int64_t checks_ = 0;    // contributed to
  std::int64_t consumed_ = 0;  // ... and been looked at
};

/// Bytes of both fields of the whole grid.
std::uint64_t bytes_of_fields(extents grid);

}  // namespace jacobi
