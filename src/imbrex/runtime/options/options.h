#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "imbrex/balance/balance_options.h"
#include "imbrex/base/config.h"
#include "imbrex/base/log.h"
#include "imbrex/checkpoint/checkpoint_options.h"
#include "imbrex/comm/data/protocol.h"
#include "imbrex/device/completion_mode.h"
#include "imbrex/hetero/hetero_options.h"
#include "imbrex/virtual_time/virtual_time_options.h"

namespace imbrex {

/// What a user may choose for a run, as `--imbrex-...` or `IMBREX_...`; an application may also set the fields.
struct runtime_options {
  int pes = 0;                      ///< PEs of each rank; 0: this rank's share of the cores
  std::string transport = "auto";   ///< "auto", "loopback", "mpi" or "ucx"
  int heartbeat_s = 10;             ///< ucx: seconds of silence after which a rank counts as lost; 0: never
  int ranks = 1;                    ///< loopback: ranks inside this process
  std::uint64_t loopback_seed = 0;  ///< loopback: seeds delays and reordering
  int loopback_delay_us = 0;        ///< loopback: a message takes up to this long
  bool loopback_reorder = false;    ///< loopback: messages of different pairs of PEs overtake each other
  int loopback_lose_after = 0;      ///< loopback: after about so many messages a rank is lost; 0: none
  std::string trace;                ///< file for the trace; empty: none
  int trace_ranks = 0;              ///< at most so many are in it; 0: all, or 64 on a simulated machine
  bool trace_by_cupti = true;       ///< CUPTI, where it can be used, tells the times of GPUs, else events
  std::string device = "host";      ///< "host", "cuda", "opencl", or "auto": cuda where there is a GPU, else host
  std::string why_no_gpu;           ///< with "auto": why there is none, set by `choose_device_kind`
  int gpus = 0;                     ///< GPUs (devices of OpenCL) of each rank; 0: its share of those there are
  std::string gpu_map;              ///< "0,0,1": the GPU of each PE of a rank; empty: by topology
  protocol_table protocols;         ///< how data go to other ranks; in a job, what is in force
  /// File of `imbrex tune`; "auto": the user's own, "none": built-in sizes.
  std::string protocols_file = "auto";
  std::string tuning_file = "auto";  ///< where `tuner` remembers; "auto": of this user; "none": nowhere
  completion_mode completion = completion_mode::flag;  ///< cuda: how a PE notices that GPU work has finished
  bool kernels_wait = true;                            ///< a GPU's kernel may wait for another GPU
  hetero_options tasks;                                ///< objects and tasks: memory, streams, policy
  std::string task_costs;                              ///< file of what tasks took; empty: that is forgotten
  bool task_stealing = true;                           ///< idle PEs run other PEs' tasks of the host
  bool check_races = false;                            ///< look for memory of channels that is written while it is lent
  bool check_memory = false;                           ///< look for what is written beyond the ends of buffers
  bool check_serialize = false;                        ///< look for members that do not go along when elements move
  std::uint64_t schedule_seed = 0;                     ///< other than 0: runnable work is run in random order
  balance_options balance;                             ///< whether and how loads are balanced
  checkpoint_options checkpoint;                       ///< whether and when checkpoints are made
  int busiest_elements = 0;                            ///< so many of each PE are named at the end; 0: none, not timed
  bool single_thread = false;                          ///< one thread runs all PEs of a rank, a step of each at a time
  virtual_time_options virtual_time;                   ///< a machine that is simulated
  std::optional<bool> pin;                             ///< a PE to a core; empty: when the cores suffice
  std::optional<int> spin_us;                          ///< how long an idle PE spins before it sleeps; empty: chosen
  log_level log = log_level::warning;
  bool help = false;  ///< print `options_help()` and end

  std::vector<std::string> warnings;  ///< of unknown names, one line each, for rank 0 to log
};

/// The one table of names, kinds, defaults and help.
const std::vector<setting>& runtime_settings();

/// Reads the command line and the environment, takes what it knows out of `argv`. Throws `config_error`.
config read_runtime_config(int& argc, char** argv);

/// The settings as fields. Throws `config_error`.
runtime_options options_from(const config& settings);

/// Resolves what the options leave open: with "auto", whether there is a GPU (if not, keeps why, and says it at log
/// level info if it may speak); with GPUs and no number of PEs, one PE for each GPU. Throws `config_error`, or
/// `not_built` when GPUs are asked for in vain.
void choose_device_kind(runtime_options& options, int num_local_ranks, bool may_speak);

/// Both of these, and sets the log level. Throws `config_error`.
runtime_options parse_runtime_options(int& argc, char** argv);

/// The text of `--imbrex-help`.
std::string options_help();

/// How a rank runs its PEs.
struct pe_plan {
  int pes = 1;
  bool pin = false;
  int spin_us = 0;
};

/// Resolves what the options leave open for a rank that may use `cores` cores, on a host where it is one of
/// `num_local_ranks`. `cores_are_shared`: all these ranks have the same cores (and not each its own).
pe_plan plan_pes(const runtime_options& options, int cores, int num_local_ranks, bool cores_are_shared = true);

/// How many of the ranks are in the trace, and whether `rank` is one of them: the first, the last, and others as far
/// apart as they can be.
int traced_ranks(const runtime_options& o, int num_ranks);
bool is_traced(const runtime_options& o, int rank, int num_ranks);

}  // namespace imbrex
