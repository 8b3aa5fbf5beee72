#pragma once

#include <imbrex/imbrex.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "chares/chare_block.h"
#include "decomposition.h"
#include "options.h"
#include "result.h"
#include "support/exact_sum.h"
#include "tasks/hetero_field.h"

namespace jacobi {

/// One block of the grid whose data are objects and whose work is tasks (Thomadakis and Chrisochoides 2024, 3.2.2): no
/// streams, events or copies. A block waits for the neighbours' messages only: they bring the faces as objects, which
/// come before the data are there; it submits the task that reads them and goes on with the next iteration.
class hetero_block : public imbrex::chare<hetero_block, imbrex::index3d> {
 public:
  hetero_block();

  /// As of `block`.
  ///@{
  imbrex::task<> prepare(std::int64_t done_before);
  imbrex::task<> iterate(std::int64_t done_before);
  imbrex::when<std::int64_t, apps::exact_sum::limb_array> changes;
  imbrex::task<> hash();
  imbrex::task<> write(std::string suffix);
  imbrex::task<verification> compare(std::vector<double> expected);
  ///@}

  /// Neighbours' faces, by `reference`.
  imbrex::when<std::int64_t, imbrex::hetero_object<double>> arrived;

 private:
  /// Submits one iteration; waits until the neighbours have submitted theirs.
  imbrex::task<> one_iteration();
  void send_faces();
  /// Contributes the change that was last asked for, if it was not yet; waits for it, if necessary.
  imbrex::task<> contribute_change();
  imbrex::task<> finish();

  /// Of the face that comes to `side` for iteration `step`.
  static std::int64_t reference(std::int64_t step, face side) { return step * num_faces + static_cast<int>(side); }
  std::string set_initial_state(const imbrex::host_view<double>& current, const imbrex::host_view<double>& next) const;
  bool is_first() const { return index() == imbrex::index3d{}; }

  const options& options_;
  const decomposition blocks_;
  const block_position position_;
  const box cells_;
  std::array<std::optional<block_position>, num_faces> neighbours_;
  hetero_field field_;

  static constexpr std::size_t run_ahead = 4;  ///< iterations that have been submitted and are not over
  std::array<imbrex::hetero_task, run_ahead> under_way_;
  std::int64_t step_ = 0;

  imbrex::hetero_object<std::int64_t> change_;
  std::optional<imbrex::host_access<const std::int64_t>> measured_;  ///< not yet contributed
  std::int64_t checks_ = 0;                                          // contributed to
  std::int64_t consumed_ = 0;                                        // ... and been looked at
};

}  // namespace jacobi
