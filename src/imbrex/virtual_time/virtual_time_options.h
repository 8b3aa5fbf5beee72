#pragma once

#include <cstdint>
#include <string>

namespace imbrex {

/// Whether buffers of simulated devices have bytes: then kernels that the host can run are run, and copies copy.
enum class simulated_data { automatic, on, off };

/// What a PE's own computing takes in virtual time, beside what its calls of the runtime are reckoned with: what it
/// takes this machine's processor, or what the program declares (`imbrex::spend`), and so the same each time.
enum class simulated_cpu { automatic, measured, declared };

/// A run in virtual time: on a machine that is described, not on this one (docs/virtual-time.md).
struct virtual_time_options {
  std::string machine;     ///< a name that imbrex knows, or a file; empty: this machine, in real time
  int nodes = 1;           ///< how many there are of it
  int ranks = 0;           ///< of the job; 0: as many as the nodes have room for
  int ranks_per_node = 0;  ///< 0: one for each GPU, or, without, one
  std::uint64_t seed = 1;  ///< of its noise
  simulated_data data = simulated_data::automatic;  ///< automatic: with up to 8 ranks
  std::string report;                               ///< file for what its PEs, GPUs and network did (JSON); empty: none
  simulated_cpu cpu = simulated_cpu::automatic;     ///< automatic: measured without GPUs, declared with them

  bool is_wanted() const { return !machine.empty(); }
};

}  // namespace imbrex
