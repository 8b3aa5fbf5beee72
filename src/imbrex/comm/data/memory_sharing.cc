#include "imbrex/comm/data/memory_sharing.h"

#include <cstdint>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/base/serialize.h"
#include "imbrex/device/buffer.h"

namespace imbrex {

namespace {

/// Why not; empty: all of these devices open all of that memory.
std::string why_not_opened(const std::vector<device*>& devices, const std::vector<shared_memory>& theirs) {
  if (devices.empty() || theirs.empty()) return "one of the two has no device";
  for (const shared_memory& m : theirs) {
    if (m.handle.empty()) return "its devices do not give their memory to other processes";
    for (device* d : devices) {
      try {
        static_cast<void>(d->open(m));
      } catch (const error& e) {
        return e.what();
      }
    }
  }
  return {};
}

}  // namespace

memory_sharing agree_on_sharing(transport& network, const std::vector<bool>& same_host,
                                const std::vector<device*>& devices) {
  std::vector<buffer<std::byte>> samples;
  std::vector<shared_memory> mine;
  for (device* d : devices) {
    samples.emplace_back(*d, 64);
    if (!d->share(samples.back().data(), mine.emplace_back())) mine.back() = {};
  }
  const auto all = network.all_gather(to_bytes(mine));
  std::vector<std::uint8_t> opened(all.size(), 0);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (!same_host[r] || static_cast<rank_id>(r) == network.rank()) continue;
    std::vector<shared_memory> theirs;
    from_bytes(all[r], theirs);
    const std::string why = why_not_opened(devices, theirs);
    opened[r] = why.empty() ? 1 : 0;
    if (!why.empty()) log_info(fmt::format("GPU memory of rank {} is not read where it is: {}", r, why));
  }
  memory_sharing found;
  const auto everyone = network.all_gather(to_bytes(opened));  // by then nobody opens the samples any more
  for (std::size_t r = 0; r < everyone.size(); ++r) {
    std::vector<std::uint8_t> theirs;
    from_bytes(everyone[r], theirs);
    found.reads_mine.push_back(theirs[static_cast<std::size_t>(network.rank())] != 0);
    found.is_read.push_back(opened[r] != 0);
  }
  return found;
}

}  // namespace imbrex
