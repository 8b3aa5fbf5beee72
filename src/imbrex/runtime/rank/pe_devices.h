#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/device/device.h"
#include "imbrex/runtime/options/options.h"

namespace imbrex::detail {

/// The devices of a rank beside the host's, of one kind, and the handles of its PEs. Made before the PEs run.
class pe_devices {
 public:
  pe_devices() = default;
  pe_devices(const pe_devices&) = delete;
  pe_devices& operator=(const pe_devices&) = delete;
  virtual ~pe_devices() = default;

  /// Makes a PE's handles; PEs in order.
  virtual void add_pe(executor& pe) = 0;
  /// The PE's own device, and all of them.
  virtual device& of_pe(std::size_t pe) const = 0;
  virtual std::vector<device*> all_of_pe(std::size_t pe) const = 0;
  /// The place, among all, of each PE's own.
  virtual const std::vector<int>& map() const = 0;

  /// The calling thread is that PE's from now on.
  virtual void bind_to_this_thread(std::size_t) {}
  /// Whether their memory can be read by transports and by other processes; if not, data go by way of the host.
  virtual bool can_be_reached() const = 0;
  /// Calls `tell(start, bytes, kind, device, comes)` for all large pieces of memory that buffers lie in, those to come
  /// too; any thread.
  using memory_watcher = std::function<void(std::byte*, std::size_t, memory_kind, int device, bool comes)>;
  virtual void watch_memory(const memory_watcher&) {}
  /// Nothing runs on them any more: the trace gets what is known of them only now.
  virtual void finish_trace() {}
  /// Says in the log (level debug) how much memory was handed out at most.
  virtual void log_memory() = 0;
};

/// Which devices a rank drives, of those of its host.
struct device_share {
  std::vector<int> numbers;        ///< as the driver counts them
  std::vector<std::string> names;  ///< the same in all processes of the host
};

/// Those of rank `local_rank` of `num_local_ranks`, of the chosen kind (`choose_device_kind`); none for the host's.
/// Throws `config_error`.
device_share choose_devices(const runtime_options& options, int local_rank, int num_local_ranks);

/// Opens them. `processors[i]`: where PE i is pinned, -1 for nowhere. Null: there are none beside the host's. Throws
/// `config_error`.
std::unique_ptr<pe_devices> open_devices(const runtime_options& options, const device_share& share,
                                         const std::vector<int>& processors, trace_recorder* recorder);

/// \name Of one kind each; null where it is not built
///@{
std::unique_ptr<pe_devices> open_cuda(const runtime_options& options, const device_share& share,
                                      const std::vector<int>& processors, trace_recorder* recorder);
std::unique_ptr<pe_devices> open_opencl(const runtime_options& options, const device_share& share, std::size_t num_pes);
///@}

/// The map that `--imbrex-gpu-map` names. Throws `config_error`.
std::vector<int> parse_gpu_map(const std::string& text, std::size_t num_gpus, std::size_t num_pes);

}  // namespace imbrex::detail
