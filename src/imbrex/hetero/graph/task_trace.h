#pragma once

#include <cstdint>
#include <unordered_map>

#include "imbrex/hetero/task_node.h"
#include "imbrex/trace/trace.h"

namespace imbrex {

/// What a trace says of the tasks of a domain: what each waited for and when, and an arrow to one of the host from the
/// last that it waited for. For the domain's PE. Replays of windows are in the trace as slices only.
class task_trace {
 public:
  /// What it notes goes to the PE's track.
  task_trace(const executor& pe, trace_track& track, trace_recorder& recorder)
      : pe_(pe), track_(track), recorder_(recorder) {}

  /// Before its uses are queued.
  void submitted(const task_node& t);
  /// `t`, which has been submitted, was told to run after this one.
  void follows(const task_node& t, const task_node& earlier);
  /// Before the tasks that wait for `t` are let go.
  void lets_go(const task_node& t);
  /// `t` was the last that `freed` waited for; null: something else was.
  void ready(const task_node& freed, const task_node* t);
  /// The slice of the PE's track that has just begun is of it.
  void runs_here(const task_node& t);
  /// It is about to be enqueued on a device.
  void enqueued(const task_node& t);
  /// It is over, or has failed without having run.
  void over(const task_node& t);

 private:
  struct open_task {
    trace_task task;
    std::uint64_t arrow = 0;
    bool ran_here = false;
  };
  open_task* find(const task_node& t);

  const executor& pe_;
  trace_track& track_;
  trace_recorder& recorder_;
  std::unordered_map<std::uint64_t, open_task> open_;  // by age
};

}  // namespace imbrex
