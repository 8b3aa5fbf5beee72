#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/checkpoint/checkpoint_options.h"
#include "imbrex/checkpoint/live/pe_snapshot.h"
#include "imbrex/checkpoint/live/point_schedule.h"
#include "imbrex/checkpoint/manifest.h"
#include "imbrex/checkpoint/memory/rank_memory.h"
#include "imbrex/object/collection/reducer.h"

namespace imbrex {

/// What is saved besides chares, and is known by those above.
struct checkpointed_globals {
  std::function<std::vector<std::byte>()> save;             ///< all read-only globals that were set while the job ran
  std::function<void(const std::vector<std::byte>&)> load;  ///< on one PE of each process
};

/// One PE's part of making checkpoints. PE 0 leads: it waits until all is quiet, has every PE take a copy of what it
/// has (`take_snapshot`), lets those go on who wait at points, has each rank write its PEs' copies to its file or into
/// its memory, by a thread of its own, and commits. For the PE's thread.
class checkpointer final : public pe_part, device_saver {
 public:
  /// `memory`: what this rank keeps of checkpoints in memory; null: none are kept there.
  checkpointer(chare_pe& pe, const checkpoint_options& options, checkpointed_globals globals,
               rank_memory* memory = nullptr);
  ~checkpointer() override;
  static checkpointer& of(scheduler& pe);

  const checkpointed_globals& globals() const { return globals_; }
  /// Whether points are waited at: else they are passed at once.
  bool has_points() const { return options_.at_points(); }
  rank_memory* memory() const { return memory_; }

  /// \name PE 0
  ///@{
  /// How the program's object is saved; without this no checkpoint can be made.
  void saves_program_by(std::function<std::vector<std::byte>()> save) { save_program_ = std::move(save); }
  /// Makes one in folder `base`; when awaited it is whole, on the disk. Gives its path. Throws `usage_error` where none
  /// can be made, `snapshot_error` when writing fails.
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
  ///@}

  /// Of this PE, for its rank's file. When awaited elements may go on.
  task<> take();
  /// What was taken is not written after all.
  void drop() { taken_.clear(); }
  /// \name First PE of a rank
  ///@{
  /// Writes the file of the rank: what was taken, or, where there is a number, its image of that checkpoint in memory.
  task<rank_file_facts> write(std::string folder, std::uint64_t number);
  /// Makes the rank's image of what was taken, for checkpoint `number`.
  task<rank_file_facts> keep(std::uint64_t number, snapshot_facts facts);
  /// All ranks have theirs, of these sizes: this one's parity.
  task<> protect(std::uint64_t number, std::vector<rank_file_facts> files);
  ///@}

 private:
  /// What is made of what has been taken.
  struct wanted {
    bool in_memory = false;
    bool in_files = false;
    int pes = 0;  ///< the job goes on with so many of each rank; 0: as it is
  };
  task<> read_objects();
  bool save_later(saved_state& to, device& of, const void* from, std::size_t bytes) override;
  void let_go(const std::vector<point>& points, bool made);
  task<> make_at_points();
  task<> store(wanted what);
  task<> begin_again_with(int pes);
  task<> take_everywhere();
  task<> take_or_drop();
  task<std::string> write_everywhere(std::string base, std::uint64_t number);
  task<std::uint64_t> keep_everywhere();
  snapshot_facts facts_of_job() const;
  task<> my_turn();
  void end_turn();

  chare_pe& pe_;
  const checkpoint_options options_;
  const checkpointed_globals globals_;
  rank_memory* const memory_;
  std::vector<snapshot_record> taken_;
  struct device_stream {
    device* on = nullptr;
    std::unique_ptr<stream> copies;
  };
  std::vector<device_stream> streams_;  // made with the first use

  // PE 0
  std::function<std::vector<std::byte>()> save_program_;
  bool running_ = false;
  bool is_writing_ = false;  // what was taken: a point at which the next one is due is passed
  std::vector<reply_to> next_turns_;
  std::vector<point> waiting_;
  point_schedule to_files_, to_memory_;
  wanted due_;                                      // of what is taken next
  int signal_ = 0;                                  // that asks for the next one
  int next_pes_ = 0;                                // asked for; 0: as many as there are
  std::int64_t quiet_in_ns_ = 0, taken_in_ns_ = 0;  // the last one
};

}  // namespace imbrex
