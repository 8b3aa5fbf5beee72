#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The ways in which the two players exchange bytes.
namespace pingpong {

enum class mode : std::uint8_t {
  entry,
  channel_host,
  put_host,
  get_host,
  mpi_host,
  ucx_host,
  channel_device,
  channel_device_chained,
  message_device,
  message_device_chained,
  put_device,
  get_device,
  mpi_device,
  ucx_device,
  copy_device,
  copy_device_chained,
};

/// All modes, in the order of the tables' columns.
inline constexpr std::array all_modes{mode::entry,          mode::channel_host,
                                      mode::put_host,       mode::get_host,
                                      mode::mpi_host,       mode::ucx_host,
                                      mode::channel_device, mode::channel_device_chained,
                                      mode::message_device, mode::message_device_chained,
                                      mode::put_device,     mode::get_device,
                                      mode::mpi_device,     mode::ucx_device,
                                      mode::copy_device,    mode::copy_device_chained};

/// As on the command line: "channel-device-chained".
const char* name(mode m);
/// One line for --help.
const char* description(mode m);

/// Whether its messages lie in the memory of GPUs.
bool on_devices(mode m);
/// Reads a list of names separated by commas; gives them in the order of `all_modes`, each once. Throws usage_error
/// naming what is unknown.
std::vector<mode> parse_modes(std::string_view text);

/// Where the two players are, and what they have; filled at the beginning of a run.
struct surroundings {
  int ranks = 1;
  int pes_per_rank = 1;
  std::string transport = "none";
  bool players_share_process = true;
  bool players_share_pe = false;
  bool gpus = false;  ///< each player has one
  bool players_share_gpu = false;
  std::string why_no_gpu;  ///< without one
  bool mpi = false;        ///< MPI is initialised for the program's own use
  bool mpi_takes_gpu_memory = false;
  bool ucx_takes_gpu_memory = false;
};

/// Why `m` cannot run there; empty when it can.
std::string why_not(mode m, const surroundings& s);

}  // namespace pingpong
