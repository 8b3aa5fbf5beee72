#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/base/error.h"
#include "imbrex/checkpoint/live/checkpoint_maker.h"
#include "imbrex/checkpoint/live/point_schedule.h"
#include "imbrex/object/collection/reducer.h"

namespace imbrex {

/// Decides on PE 0 when checkpoints are made: when the program asks for one, at points where one is due, by a signal,
/// to go on with other PEs. Lets those go on who wait at points as soon as all has been taken. For the thread of PE 0.
class checkpoint_leader {
 public:
  checkpoint_leader(chare_pe& pe, const checkpoint_options& options, rank_memory* memory);
  ~checkpoint_leader();
  checkpoint_leader(const checkpoint_leader&) = delete;
  checkpoint_leader& operator=(const checkpoint_leader&) = delete;

  /// How the program's object is saved; without this no checkpoint can be made.
  void saves_program_by(std::function<std::vector<std::byte>()> save) { maker_.save_program = std::move(save); }
  std::vector<std::byte> save_program() const { return maker_.save_program(); }

  /// Makes one in folder `base`; when awaited it is whole, on the disk. Gives its path. Throws `checkpoint_error` where
  /// none can be made, `snapshot_error` when writing fails.
  task<std::string> make(std::string base);
  /// The same in the memory of ranks; gives its number. `usage_error` where none are kept there.
  task<std::uint64_t> make_in_memory();
  /// All elements of an array have come to a point, or the program itself has (`which` of no array, `root` no PE).
  /// `signal`: the number of one that a process of theirs was sent and that asks for a checkpoint; 0: none.
  struct point {
    pe_id root = no_pe;
    reduction_id which;
    reply_to program;
  };
  void reached(const point& p, int signal);
  /// At the next point the job begins again in the same processes, with so many PEs of each rank.
  void resize(int pes) { next_pes_ = pes; }
  /// What is kept in memory is not needed any more, since none is kept there but to begin again.
  task<> forget_memory();

 private:
  /// What is made of what has been taken.
  struct wanted {
    bool in_memory = false;
    bool in_files = false;
    int pes = 0;  ///< the job goes on with so many of each rank; 0: as it is
  };
  void let_go(const std::vector<point>& points, bool made);
  task<> make_at_points();
  task<> store(wanted what);
  task<> begin_again_with(int pes);
  /// None was made, `asked_by` a signal or 0.
  void failed(const error& e, int asked_by);

  chare_pe& pe_;
  const std::string folder_;
  rank_memory* const memory_;
  checkpoint_maker maker_;
  bool is_writing_ = false;  // what was taken: a point at which the next one is due is passed
  std::vector<point> waiting_;
  point_schedule to_files_, to_memory_;
  wanted due_;                         // of what is taken next
  int signal_ = 0;                     // that asks for the next one
  std::int64_t asked_to_end_ns_ = -1;  // when a checkpoint before the end first failed; negative: none has
  std::string last_failure_;
  int next_pes_ = 0;  // asked for; 0: as many as there are
};

}  // namespace imbrex
