#pragma once

#include <cstddef>
#include <utility>

#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/hetero_task.h"
#include "imbrex/hetero/tasks/task_journal.h"

namespace imbrex {

struct recorded_window;

/// Tasks that were recorded once and can be run again and again, with the same objects, functions and values: record
/// again for others. Copying the handle makes another handle; the objects live as long as a handle or a replay. For the
/// PE of its domain.
class task_window {
 public:
  task_window() = default;
  task_window(const task_window& other);
  task_window(task_window&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  task_window& operator=(task_window other) noexcept {
    std::swap(of_, other.of_);
    return *this;
  }
  ~task_window();

  /// Submits all of the window's tasks; what it gives is over when all of them are, and fails when one does. Tasks
  /// submitted before and after are ordered with the window by the objects that it uses, as with a task that used them
  /// all; replays may be submitted before earlier ones are over.
  ///
  /// Tasks that can only run on the host run one after the other, in the order of recording: what they wait for was
  /// found when they were recorded, and a replay costs nanoseconds for each. When one of them fails, those after it do
  /// not run, and all that the window writes is worth nothing.
  ///
  /// Tasks that can all run on one device with all of their objects there at once, run there: if on no other device, or
  /// if they have to do with each other, by objects that they write or by `after`; then on the one that has most of
  /// their data. They are enqueued without looking for dependencies again, and from the second time on, as long as the
  /// objects stay where they are, as a CUDA graph. So a function that enqueues on a GPU's stream may not be called
  /// again, while what it enqueued is done again; when it calls functions of the host, there will be no graph. One task
  /// that throws makes all worthless.
  ///
  /// The same on several devices of one kind that reach each other, as one task and one graph: where tasks have been
  /// given different ones (`.on`, `.number`), and where that is expected to be over in four fifths of the time. Which
  /// task runs where is found when the window is recorded, by what such tasks took before, if the policy knows that,
  /// and their bytes: by the longest way to the end (HEFT), or neighbours together, whichever is over sooner. What the
  /// window changes has its place on the device that changes it last; others have copies of the window's own.
  ///
  /// Other windows, as those with tasks of the host and of devices, or with an object and slices of it, are submitted
  /// task by task.
  /// Throws `usage_error` when it reads an object that nobody has written; then nothing is submitted, except where the
  /// window writes slices of it.
  hetero_task replay() const;
  std::size_t num_tasks() const;
  /// Whether a replay runs its tasks in the order of recording.
  bool in_order() const;
  /// As a whole a replay runs on so many devices; 0: on the host, or task by task.
  std::size_t num_devices() const;
  /// Whether a replay runs all of its tasks on one device.
  bool on_device() const { return num_devices() == 1; }
  /// Whether the last replay that has been started was one CUDA graph.
  bool was_graph() const;

 private:
  friend class window_recording;
  explicit task_window(recorded_window* w) : of_(w) {}

  recorded_window* of_ = nullptr;
};

/// `record` for who has no function to give it: while it lives, tasks submitted to the domain are kept instead; without
/// `finish` for nobody. What `record` says holds, and the PE does nothing else meanwhile: no coroutine waits.
class window_recording {
 public:
  explicit window_recording(hetero_domain& domain);
  ~window_recording();
  window_recording(const window_recording&) = delete;
  /// The window; tasks that are submitted from now on run. Once.
  task_window finish();

 private:
  hetero_domain& domain_;
  recorded_window* window_ = nullptr;
};

/// Calls `f`, and keeps the tasks that it submits to the domain instead of running them. Their handles are for `after`
/// of other tasks of the window, and for nothing else. `f` submits functions and kernels, and asks for no views; it
/// throws `usage_error` there, and for dependencies on tasks outside the window. What `f` throws is passed on, and
/// nothing is kept.
template <class F>
task_window record(hetero_domain& domain, F&& f) {
  window_recording recording(domain);
  std::forward<F>(f)();
  return recording.finish();
}

/// Of the calling PE.
template <class F>
task_window record(F&& f) {
  return record(hetero_domain::current(), std::forward<F>(f));
}

}  // namespace imbrex
