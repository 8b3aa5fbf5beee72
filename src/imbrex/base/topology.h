#pragma once

#include <cstdint>
#include <vector>

/// The cores this process may use, and where its threads run. Linux; hwloc orders the cores where it was built in.
/// The mask of the process is read at the first call of any function here, which must come before a thread of it is
/// pinned by other means.
namespace imbrex {

/// Logical processors of the process's affinity mask: threads placed one by one go to the front of this list first.
/// One processor of every physical core, neighbours in the machine next to each other, then the hyperthreads.
const std::vector<int>& processors_in_pinning_order();

/// How many threads can run at once: processors of the mask, but no more than the CPU quota of the control group
/// (rounded up). At least 1.
int available_cores();

/// Physical cores among `processors_in_pinning_order`.
int available_physical_cores();

/// Pins the calling thread to one processor; false when the system refuses.
bool pin_this_thread(int processor);

/// Gives the calling thread the whole mask of the process. Every thread that a PE starts calls this first: it would
/// otherwise share the PE's one core.
void unpin_this_thread();

/// The processor for PE `i` of `num_pes` of the rank that is number `local_rank` of `num_local_ranks` of this host: a
/// share of its own where the mask has room for all, or else (the launcher gave every rank its own mask) the i-th of
/// the mask. Negative: there are fewer processors than PEs, do not pin.
int processor_for_pe(int i, int num_pes, int local_rank, int num_local_ranks);

/// Bytes of host memory that can be had without swapping, within the control group's limit; 0 when not known.
std::uint64_t available_host_memory();

/// Bytes of the largest cache of the first processor; 0 when not known.
std::uint64_t last_level_cache_size();

}  // namespace imbrex
