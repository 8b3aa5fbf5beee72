#pragma once

#include <sys/types.h>

/// A job that this command starts and waits for, and the signals that are meant for both.

/// How a process ended.
struct child_end {
  int code = 0;    ///< as a shell says it: 128 and the number of a signal
  int signal = 0;  ///< by which it was ended; 0: it ended by itself
};

/// From now on what asks this command for an end (SIGTERM, SIGINT, SIGHUP), or for a checkpoint (SIGUSR1), asks the
/// process that is waited for.
void pass_signals_on();

/// The signal by which this command was told to end, or 0. One that came between two processes counts for the next.
int told_to_end();

/// Waits, whatever signals come.
child_end wait_for_child(pid_t child);
