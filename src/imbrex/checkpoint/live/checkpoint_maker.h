#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/checkpoint/checkpoint_options.h"
#include "imbrex/checkpoint/memory/rank_memory.h"
#include "imbrex/checkpoint/partial_checkpoint.h"
#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/pe/reply.h"

namespace imbrex {

struct snapshot_facts;

/// How PE 0 has a checkpoint made: it waits until all is quiet, has every PE take a copy of what it has
/// (`take_snapshot`), then has each rank write its PEs' copies to its file or into its memory, by a thread of its own,
/// and commits. For the thread of PE 0.
class checkpoint_maker {
 public:
  checkpoint_maker(chare_pe& pe, const checkpoint_options& options, rank_memory* memory)
      : pe_(pe), kept_in_files_(options.keep), memory_(memory), claim_(options.folder) {}

  /// Of the folder that the options name: false when another job has it.
  bool claim_folder() { return claim_.take(); }

  /// How the program's object is saved; without this no checkpoint can be made.
  std::function<std::vector<std::byte>()> save_program;

  /// One checkpoint is made at a time: whoever awaits `my_turn` ends its turn.
  task<> my_turn();
  void end_turn();

  /// When awaited, all have what is to be kept, and may go on. Throws `checkpoint_error` where none can be made;
  /// nothing is left of it then.
  task<> take();
  /// What was taken, or the checkpoint of that number in memory, in folder `base`; gives its path. Throws
  /// `snapshot_error` when writing fails.
  task<std::string> write(std::string base, std::uint64_t number);
  /// What was taken, in the memory of ranks; gives its number.
  task<std::uint64_t> keep();

 private:
  task<> take_everywhere();
  snapshot_facts facts_of_job() const;

  chare_pe& pe_;
  const int kept_in_files_;
  rank_memory* const memory_;
  folder_claim claim_;
  bool running_ = false;
  std::vector<reply_to> next_turns_;
  std::int64_t quiet_in_ns_ = 0, taken_in_ns_ = 0;  // the last one
};

}  // namespace imbrex
