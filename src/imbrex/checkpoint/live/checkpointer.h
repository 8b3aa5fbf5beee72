#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/checkpoint/checkpoint_options.h"
#include "imbrex/checkpoint/live/pe_snapshot.h"
#include "imbrex/checkpoint/manifest.h"
#include "imbrex/checkpoint/memory/rank_memory.h"

namespace imbrex {

class checkpoint_leader;

/// What is saved besides chares, and is known by those above.
struct checkpointed_globals {
  std::function<std::vector<std::byte>()> save;             ///< all read-only globals that were set while the job ran
  std::function<void(const std::vector<std::byte>&)> load;  ///< on one PE of each process
};

/// One PE's part of making checkpoints: a copy of what it has; for the first PE of a rank, what becomes of those of all
/// its PEs. PE 0 asks for both (`checkpoint_leader`). For the PE's thread.
class checkpointer final : public pe_part, device_saver {
 public:
  /// `memory`: what this rank keeps of checkpoints in memory; null: none are kept there.
  checkpointer(chare_pe& pe, const checkpoint_options& options, checkpointed_globals globals,
               rank_memory* memory = nullptr);
  ~checkpointer() override;
  static checkpointer& of(scheduler& pe);

  const checkpointed_globals& globals() const { return globals_; }
  /// Whether points are waited at: else they are passed at once.
  bool has_points() const { return has_points_; }
  rank_memory* memory() const { return memory_; }
  /// Of PE 0.
  checkpoint_leader& leader() { return *leader_; }

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
  task<> read_objects();
  bool save_later(saved_state& to, device& of, const void* from, std::size_t bytes) override;

  chare_pe& pe_;
  const bool has_points_;
  const checkpointed_globals globals_;
  rank_memory* const memory_;
  std::unique_ptr<checkpoint_leader> leader_;
  std::vector<snapshot_record> taken_;
  struct device_stream {
    device* on = nullptr;
    std::unique_ptr<stream> copies;
  };
  std::vector<device_stream> streams_;  // made with the first use
};

}  // namespace imbrex
