#include "modes.h"

#include <fmt/format.h>

#include <algorithm>

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"

namespace pingpong {

const char* name(mode m) {
  switch (m) {
    case mode::entry: return "entry";
    case mode::channel_host: return "channel-host";
    case mode::put_host: return "put-host";
    case mode::get_host: return "get-host";
    case mode::mpi_host: return "mpi-host";
    case mode::ucx_host: return "ucx-host";
    case mode::channel_device: return "channel-device";
    case mode::channel_device_chained: return "channel-device-chained";
    case mode::message_device: return "message-device";
    case mode::message_device_chained: return "message-device-chained";
    case mode::put_device: return "put-device";
    case mode::get_device: return "get-device";
    case mode::mpi_device: return "mpi-device";
    case mode::ucx_device: return "ucx-device";
    case mode::copy_device: return "copy-device";
    case mode::copy_device_chained: return "copy-device-chained";
  }
  return "?";
}

const char* description(mode m) {
  switch (m) {
    case mode::entry: return "an entry method with a vector of bytes";
    case mode::channel_host: return "a channel of host memory";
    case mode::put_host: return "put into host memory, awaited each time";
    case mode::get_host: return "get from host memory, awaited each time";
    case mode::mpi_host: return "baseline: MPI_Send and MPI_Recv of host memory";
    case mode::ucx_host: return "baseline: UCX tag messages of host memory";
    case mode::channel_device: return "a channel of GPU memory; the host waits for the data in every hop";
    case mode::channel_device_chained:
      return "the same, each hop enqueued behind the last: the host waits once in --chain round trips";
    case mode::message_device: return "an entry method with a device_view; the host waits for the data in every hop";
    case mode::message_device_chained: return "the same, each hop enqueued behind the last";
    case mode::put_device: return "put from GPU memory into GPU memory, awaited each time";
    case mode::get_device: return "get from GPU memory into GPU memory, awaited each time";
    case mode::mpi_device: return "baseline: MPI with GPU memory, staged through pinned memory where MPI takes none";
    case mode::ucx_device: return "baseline: UCX tag messages of GPU memory";
    case mode::copy_device: return "baseline: cudaMemcpyPeerAsync; the host waits for every copy";
    case mode::copy_device_chained: return "the same, copies enqueued behind each other";
  }
  return "?";
}

bool on_devices(mode m) { return m >= mode::channel_device; }

std::vector<mode> parse_modes(std::string_view text) {
  std::array<bool, all_modes.size()> wanted{};
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, end - at);
    const auto found = std::ranges::find_if(all_modes, [&](mode m) { return item == name(m); });
    if (found == all_modes.end()) {
      std::string known;
      for (const mode m : all_modes) known += fmt::format("{}{}", known.empty() ? "" : ", ", name(m));
      throw imbrex::usage_error(fmt::format("--modes: '{}' is unknown: use some of {}", item, known));
    }
    wanted[static_cast<std::size_t>(found - all_modes.begin())] = true;
    at = end + 1;
  }
  std::vector<mode> modes;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) modes.push_back(all_modes[i]);
  }
  return modes;
}

namespace {

/// Why the raw interfaces between processes cannot be used there.
std::string why_not_between_processes(const surroundings& s) {
  if (s.ranks == 1) return "there is one process only: start two with mpirun -n 2";
  if (s.transport == "loopback") return "the ranks of the loopback transport are one process: use mpirun -n 2";
  if (s.players_share_process) return "both players are in one process";
  if (!s.mpi) return "the processes were not started by an MPI launcher: use mpirun -n 2";
  if (s.pes_per_rank > 1)
    return fmt::format("it blocks its PE, and MPI takes calls of one thread: use --imbrex-pes 1 instead of {}",
                       s.pes_per_rank);
  return "";
}

std::string why_not_copies(const surroundings& s) {
  if (!s.players_share_process) return "the GPUs belong to two processes: start one process with two GPUs";
  if (s.players_share_gpu) return "both players use the same GPU";
  return "";
}

}  // namespace

std::string why_not(mode m, const surroundings& s) {
  if (on_devices(m) && !s.gpus) return s.why_no_gpu.empty() ? "no GPU is used" : s.why_no_gpu;
  switch (m) {
    case mode::mpi_host:
    case mode::mpi_device:
      if (!IMBREX_HAVE_MPI) return fmt::format("this build is without MPI: {}", IMBREX_NOTE_MPI);
      return why_not_between_processes(s);
    case mode::ucx_host:
    case mode::ucx_device:
      if (!IMBREX_HAVE_UCX) return fmt::format("this build is without UCX: {}", IMBREX_NOTE_UCX);
      if (std::string why = why_not_between_processes(s); !why.empty()) return why;
      if (m == mode::ucx_device && !s.ucx_takes_gpu_memory)
        return "the UCX library loaded here does not reach GPU memory (it has no cuda_copy)";
      return "";
    case mode::copy_device:
    case mode::copy_device_chained: return why_not_copies(s);
    default: return "";  // imbrex's own run everywhere
  }
}

}  // namespace pingpong
