#include <fmt/format.h>
#include <imbrex/base/topology.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "finding.h"

namespace doctor {

namespace {

double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

finding look_at_cores() {
  const int cores = imbrex::available_cores(),
            processors = static_cast<int>(imbrex::processors_in_pinning_order().size());
  const long all = sysconf(_SC_NPROCESSORS_ONLN);
  std::string said = fmt::format("{} ({} physical)", cores, imbrex::available_physical_cores());
  if (cores < processors) {
    said += fmt::format("; the control group's quota leaves {} of {}", cores, processors);
  } else if (processors < all) {
    said += fmt::format(" of the machine's {}: the process is bound to these", all);
  }
  return works("cores", said);
}

finding look_at_memory() {
  const std::uint64_t free = imbrex::available_host_memory();
  if (free > 0 && free < (std::uint64_t{1} << 30)) {
    return wrong("memory", fmt::format("{:.2g} GiB are free", gib(free)), "end other programs, or ask for more");
  }
  return works("memory", free > 0 ? fmt::format("{:.4g} GiB free", gib(free)) : "not known");
}

/// UCX and MPI register buffers with the network, which locks them.
finding look_at_locked_memory() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return works("locked memory", "no limit");
  const std::string said = fmt::format("up to {:.4g} MiB", gib(limit.rlim_cur) * 1024);
  if (limit.rlim_cur >= (std::uint64_t{1} << 30)) return works("locked memory", said);
  return absent("locked memory", said + ": too little for InfiniBand, which most other networks do not care for",
                "ulimit -l unlimited, or memlock in /etc/security/limits.conf");
}

finding look_at_files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::string said = fmt::format("{} at once", limit.rlim_cur);
  if (limit.rlim_cur >= 1024) return works("open files", said);
  return wrong("open files", said + ": few for many ranks", "ulimit -n 65536");
}

/// Ranks of one machine talk through it.
finding look_at_shared_memory() {
  struct statvfs fs{};
  if (statvfs("/dev/shm", &fs) != 0 || access("/dev/shm", W_OK) != 0) {
    return wrong("/dev/shm", "is not there, or cannot be written: ranks of one machine need it",
                 "mount -t tmpfs tmpfs /dev/shm (containers: --shm-size=1g)");
  }
  const std::uint64_t free = std::uint64_t{fs.f_bavail} * fs.f_frsize;
  const std::string said = fmt::format("{:.3g} GiB free", gib(free));
  if (free >= (std::uint64_t{256} << 20)) return works("/dev/shm", said);
  return wrong("/dev/shm", said + ": too little for ranks of one machine", "containers: --shm-size=1g");
}

/// Without it MPI copies large messages between processes of a machine twice.
findings look_at_single_copies() {
  std::ifstream in("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  if (!(in >> scope) || scope == 0) return {};
  return {absent("single copies",
                 fmt::format("the kernel's ptrace_scope is {}: MPI copies large messages between "
                             "processes of one machine twice",
                             scope),
                 "sudo sysctl kernel.yama.ptrace_scope=0")};
}

}  // namespace

findings look_at_machine() {
  findings all{look_at_cores(), look_at_memory(), look_at_locked_memory(), look_at_files(), look_at_shared_memory()};
  for (finding& f : look_at_single_copies()) all.push_back(std::move(f));
  return all;
}

}  // namespace doctor
