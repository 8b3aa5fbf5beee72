#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "imbrex/device/opencl_api.h"
#include "imbrex/device/opencl_argument.h"
#include "imbrex/device/opencl_completion.h"
#include "imbrex/device/opencl_device.h"
#include "imbrex/device/opencl_event.h"
#include "imbrex/device/stream.h"

namespace imbrex {

struct opencl_kernel;

/// A stream of a device of OpenCL: an in-order queue of the driver. Copies, kernels and waits are enqueued there at
/// once; functions for the host wait here until the PE's loop has seen that all that stands before them has finished.
/// Enqueueing never waits for the device. For the PE that made it.
///
/// Errors: what the driver refuses is a `device_error` of the call that enqueued it; an operation that fails later ends
/// the job from the PE's loop. Both name the operation, the stream and the device.
class opencl_stream final : public stream {
 public:
  /// The driver's queue is made with the first operation: of the five streams of a chare most use few.
  opencl_stream(opencl_device& d, stream_priority p, std::string label);
  /// Waits for what is under way, and drops the functions for the host that have not run.
  ~opencl_stream() override;

  device& on() const override { return device_; }
  stream_priority urgency() const override { return priority_; }
  /// Between memory of the device's context and memory of the host, pinned or not, in any direction.
  void copy(void* to, const void* from, std::size_t bytes) override;
  /// Memory of the host is filled by the PE when the stream comes there.
  void fill(void* to, unsigned char value, std::size_t bytes) override;
  event record() override;
  /// Throws `usage_error` for a point that is not complete in a stream of the host, of CUDA, or of another platform of
  /// OpenCL.
  void wait(const event& e) override;
  bool idle() const override;
  /// Throws `usage_error`: OpenCL has no graphs.
  std::unique_ptr<graph> capture(const std::function<void()>& enqueue) override;

  /// Runs `kernel_name` of the program with the text `source`, built with `options` (null: none), in the order of this
  /// stream, and returns at once: `groups` work groups of `group` work items each. The first launch of a program's
  /// kernels on a device builds it, which takes milliseconds to seconds (see opencl_programs.h); the three texts are
  /// copied then, and later recognised soonest at the same addresses. `arguments` are the kernel's parameters in their
  /// order; when `local_bytes` is not 0 the kernel may have one more at the end, a pointer to local memory of that
  /// size. What pointers point to must be of this device's context (not pinned memory) and live until the kernel has
  /// finished. Throws `device_error` when the program does not build (with the compiler's log) or the launch is
  /// refused, and `usage_error` for arguments that do not fit the kernel.
  void launch_program_kernel(const char* source, const char* options, const char* kernel_name,
                             const std::array<unsigned, 3>& groups, const std::array<unsigned, 3>& group,
                             std::size_t local_bytes, std::span<const opencl_argument> arguments);

  /// \name For `opencl_completion`
  ///@{
  /// Hands over what was enqueued, looks what has finished, and runs the functions that stand before the rest. True
  /// when nothing is left. Throws `device_error` when an operation failed.
  bool advance();
  void flush() const;
  /// Lets the stream pass all functions for the host, done or not.
  void open_gates() noexcept;
  /// Blocks until all that is enqueued has finished or failed.
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

  cl_command_queue queue();
  /// Throws `device_error` unless the driver took the operation; else it is the stream's last one.
  void add(cl_int status, const char* name, cl_event end);
  std::string place() const;
  void refresh() const;
  void run_reached();
  void check_reachable(const void* memory) const;
  void set_arguments(const opencl_kernel& k, std::size_t local_bytes, std::span<const opencl_argument> arguments) const;

  opencl_device& device_;
  const stream_priority priority_;
  cl_command_queue queue_ = nullptr;         // null: nothing was enqueued yet
  std::uint64_t enqueued_ = 0;               // the last operation's number; they are counted from 1
  mutable std::uint64_t completed_ = 0;      // the last one known to have finished
  mutable std::deque<operation> under_way_;  // those in between, oldest first
  mutable bool flushed_ = true;
  std::deque<cl_event> gates_;  // one for each function that what is enqueued later waits for; null: opened
  stream_operation* first_ = nullptr;
  stream_operation* last_ = nullptr;
  std::shared_ptr<opencl_event> last_point_;  // valid while nothing was enqueued after it
  std::uint64_t last_point_at_ = 0;
};

}  // namespace imbrex
