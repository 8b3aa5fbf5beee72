#pragma once

namespace imbrex {

/// Signals by which the system or Slurm warns of the end: SIGUSR1 asks for a checkpoint, SIGTERM for one and the end of
/// the job after it. One object per process at a time; a signal's second coming does what it did before.
class checkpoint_signals {
 public:
  /// Listens from now on.
  checkpoint_signals();
  ~checkpoint_signals();
  checkpoint_signals(const checkpoint_signals&) = delete;
  checkpoint_signals& operator=(const checkpoint_signals&) = delete;

  /// The number of the signal that has come to this process and nobody has seen to; 0: none. Any thread.
  static int pending();
  /// It has been seen to.
  static void clear();
};

}  // namespace imbrex
