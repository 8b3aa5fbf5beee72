#pragma once

#include "imbrex/async/task.h"
#include "imbrex/checkpoint/memory/rank_memory.h"
#include "imbrex/object/collection/chare_pe.h"

/// How ranks keep each other's parts of a checkpoint in memory: each fetches from the others of its group what it
/// needs, piece by piece, for its parity or for a part that is lost. By the first PE of a rank.
namespace imbrex {

/// The parity that this rank has of others' parts; `part`, with its image and all that is known of it, is whole then.
/// All members of the group have their images.
task<> compute_parity(chare_pe& pe, std::uint64_t number);

/// The images of lost ranks of which this one is the keeper, by the plan of this run.
task<> restore_lost_images(chare_pe& pe, rank_memory& memory);

}  // namespace imbrex
