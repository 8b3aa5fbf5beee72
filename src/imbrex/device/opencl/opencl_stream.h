#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "imbrex/device/opencl/opencl_api.h"
#include "imbrex/device/opencl/opencl_argument.h"
#include "imbrex/device/opencl/opencl_completion.h"
#include "imbrex/device/opencl/opencl_device.h"
#include "imbrex/device/opencl/opencl_event.h"
#include "imbrex/device/stream.h"

namespace imbrex {

struct opencl_kernel;

/// A stream of a device of OpenCL: an in-order queue of the driver. Copies, kernels and waits are enqueued there at
/// once; functions for the host wait here until the PE's loop has seen that all that stands before them has finished.
/// The stream stops at a function that it calls, a point of another device, and a copy from or to another device: what
/// comes later is kept here until the PE's loop has seen to that. The driver is given nothing that waits for the host,
/// so it never blocks. Enqueueing never waits for the device. For the PE that made it.
///
/// Errors: what the driver refuses is a `device_error` of the call that enqueued it, or, where the stream had stopped,
/// ends the job from the PE's loop, as an operation does that fails later. All name the operation, the stream and the
/// device.
class opencl_stream final : public stream {
 public:
  /// The driver's queue is made with the first operation: of the five streams of a chare most use few.
  opencl_stream(opencl_device& d, stream_priority p, std::string label);
  /// Waits for what is under way, and drops the functions for the host that have not run and what it kept behind them.
  ~opencl_stream() override;

  device& on() const override { return *device_; }
  stream_priority urgency() const override { return priority_; }
  /// Between memory of the device and memory of the host, pinned or not, in any direction; memory of other devices of
  /// OpenCL is copied by way of the host. Within the host the PE copies, when the stream comes there. A copy from the
  /// host is handed to the driver once those to the host that stand before it are over (docs/design/0005-opencl.md).
  void copy(void* to, const void* from, std::size_t bytes) override;
  /// Memory of the host is filled by the PE when the stream comes there. Throws `usage_error` for another device's.
  void fill(void* to, unsigned char value, std::size_t bytes) override;
  event record() override;
  /// For points of other devices of OpenCL the PE's loop waits. Throws `usage_error` for a point that is not complete
  /// in a stream of the host or of CUDA.
  void wait(const event& e) override;
  bool idle() const override;
  void leave() override;
  void arrive(device& here) override;
  /// Throws `usage_error`: OpenCL has no graphs.
  std::unique_ptr<graph> capture(const std::function<void()>& enqueue) override;

  /// Runs `kernel_name` of the program with the text `source`, built with `options` (null: none), in the order of this
  /// stream, and returns at once: `groups` work groups of `group` work items each. The first launch of a program's
  /// kernels on a device builds it, which takes milliseconds to seconds (see opencl_programs.h); the three texts are
  /// copied then, and later recognised soonest at the same addresses. `arguments` are the kernel's parameters in their
  /// order; when `local_bytes` is not 0 the kernel may have one more at the end, a pointer to local memory of that
  /// size. What pointers point to must be of this device (not pinned memory) and live until the kernel has
  /// finished. Throws `device_error` when the program does not build (with the compiler's log) or the launch is
  /// refused, and `usage_error` for arguments that do not fit the kernel.
  void launch_program_kernel(const char* source, const char* options, const char* kernel_name,
                             const std::array<unsigned, 3>& groups, const std::array<unsigned, 3>& group,
                             std::size_t local_bytes, std::span<const opencl_argument> arguments);

  /// Calls `f` with the driver's queue, now or once the stream has come there; what it enqueues counts as one
  /// operation.
  void enqueue_native(const char* name, std::function<void(cl_command_queue)> f);

  /// \name For `opencl_completion`
  ///@{
  /// Hands over what was enqueued, looks what has finished, and runs the functions that stand before the rest. True
  /// when nothing is left. Throws `device_error` when an operation failed.
  bool advance();
  void flush() const;
  /// Blocks until all that the driver has been given has finished or failed.
  void finish() noexcept;
  bool is_busy = false;
  ///@}

 protected:
  void enqueue(stream_operation* op) override;

 private:
  struct operation {
    const char* name;  // static lifetime, or that of a kernel of the device
    cl_event end;
  };
  struct list {
    stream_operation* first = nullptr;
    stream_operation* last = nullptr;
    bool empty() const { return first == nullptr; }
    void push(stream_operation* op);
    stream_operation* pop();
    void discard();
  };
  struct kernel_launch;
  struct waiting;
  struct crossing;
  struct host_write_wait;

  cl_command_queue queue();
  std::string place() const;
  bool owns(const void* memory) const;

  /// \name What the driver is given at once
  ///@{
  /// Throws `device_error` unless the driver took the operation; else it is the stream's last one.
  void add(cl_int status, const char* name, cl_event end);
  void add_copy(void* to, const void* from, std::size_t bytes, bool to_device);
  void add_fill(void* to, unsigned char value, std::size_t bytes);
  void add_barrier(const opencl_event& after);
  void add_kernel(const kernel_launch& l, cl_kernel native);
  void add_native(const char* name, const std::function<void(cl_command_queue)>& f);
  cl_kernel set_arguments(const kernel_launch& l) const;
  ///@}
  /// Calls `f`, which gives the driver something, now or once the stream has come there.
  template <class F>
  void submit(const char* name, F f);
  /// Functions and what the stream stops at.
  void append(stream_operation* op);
  void put(stream_operation* op);
  /// Goes on behind what the stream had stopped at.
  void release();
  stream_operation* make_host_write_wait();
  /// Nothing that was enqueued, here or before a point that this stream waits for, will still write memory of the host.
  bool host_writes_are_over() const { return completed_ >= writes_host_until_; }
  void copy_by_host(void* to, const void* from, std::size_t bytes);

  void refresh() const;
  void run_reached();
  bool empty() const { return under_way_.empty() && reachable_.empty() && !stopped_; }

  opencl_device* device_;
  const stream_priority priority_;
  cl_command_queue queue_ = nullptr;         // null: nothing was enqueued yet
  std::uint64_t enqueued_ = 0;               // the last operation's number; they are counted from 1
  mutable std::uint64_t completed_ = 0;      // the last one known to have finished
  std::uint64_t writes_host_until_ = 0;      // the last one that may write memory of the host
  mutable std::deque<operation> under_way_;  // those in between, oldest first
  mutable bool flushed_ = true;
  list reachable_;  // functions, and at the end what the stream stops at
  list kept_;       // behind that
  bool stopped_ = false;
  cl_event of_other_ = nullptr;               // of another device's queue, where that works for this stream
  std::uint64_t asked_ = 0;                   // how many operations there have been, kept or not
  std::shared_ptr<opencl_event> last_point_;  // valid while nothing came after it
  std::uint64_t last_point_at_ = 0;
};

}  // namespace imbrex
