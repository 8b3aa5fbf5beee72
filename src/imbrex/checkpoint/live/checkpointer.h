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
#include "imbrex/checkpoint/manifest.h"
#include "imbrex/object/collection/reducer.h"

namespace imbrex {

/// What is saved besides chares, and is known by those above.
struct checkpointed_globals {
  std::function<std::vector<std::byte>()> save;             ///< all read-only globals that were set while the job ran
  std::function<void(const std::vector<std::byte>&)> load;  ///< on one PE of each process
};

/// One PE's part of making checkpoints. PE 0 leads: it waits until all is quiet, has every PE take a copy of what it
/// has (`take_snapshot`), lets those go on who wait at points, has each rank write its PEs' copies to its file, by a
/// thread of its own, and commits. For the PE's thread.
class checkpointer final : public pe_part, device_saver {
 public:
  checkpointer(chare_pe& pe, const checkpoint_options& options, checkpointed_globals globals);
  static checkpointer& of(scheduler& pe);

  const checkpointed_globals& globals() const { return globals_; }
  /// Whether points are waited at: else they are passed at once.
  bool has_points() const { return !options_.folder.empty(); }

  /// \name PE 0
  ///@{
  /// How the program's object is saved; without this no checkpoint can be made.
  void saves_program_by(std::function<std::vector<std::byte>()> save) { save_program_ = std::move(save); }
  /// Makes one in folder `base`; when awaited it is whole, on the disk. Gives its path. Throws `usage_error` where none
  /// can be made, `snapshot_error` when writing fails.
  task<std::string> make(std::string base);
  /// All elements of an array have come to a point, or the program itself has (`which` of no array, `root` no PE).
  /// `signal`: the number of one that a process of theirs was sent and that asks for a checkpoint; 0: none.
  struct point {
    pe_id root = no_pe;
    reduction_id which;
    reply_to program;
  };
  void reached(const point& p, int signal);
  ///@}

  /// Of this PE, for its rank's file. When awaited elements may go on.
  task<> take();
  /// What was taken is not written after all.
  void drop() { taken_.clear(); }
  /// First PE of a rank: writes the file of the rank.
  task<rank_file_facts> write(std::string folder);

 private:
  struct passed {
    collection_id array;
    std::uint32_t times = 0;
  };
  bool is_due(const point& p, int signal);
  bool save_later(saved_state& to, device& on, const void* from, std::size_t bytes) override;
  void let_go(const std::vector<point>& points, bool made);
  task<> make_at_points();
  task<> take_everywhere();
  task<> take_or_drop();
  task<std::string> write_everywhere(std::string base);
  task<> my_turn();
  void end_turn();

  chare_pe& pe_;
  const checkpoint_options options_;
  const checkpointed_globals globals_;
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
  std::vector<passed> passed_;  // since the last checkpoint
  int signal_ = 0;              // that asks for the next one
  std::int64_t last_made_ns_ = 0;
  std::int64_t quiet_in_ns_ = 0, taken_in_ns_ = 0;  // the last one
};

}  // namespace imbrex
