#include "imbrex/comm/data/memory_sharing.h"

#include <algorithm>

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
  std::vector<rank_id> opened;  // few: of this machine
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (!same_host[r] || static_cast<rank_id>(r) == network.rank()) continue;
    std::vector<shared_memory> theirs;
    from_bytes(all[r], theirs);
    const std::string why = why_not_opened(devices, theirs);
    if (why.empty()) opened.push_back(static_cast<rank_id>(r));
    if (!why.empty()) log_info(fmt::format("GPU memory of rank {} is not read where it is: {}", r, why));
  }
  memory_sharing found;
  const auto everyone = network.all_gather(to_bytes(opened));  // by then nobody opens the samples any more
  found.reads_mine.resize(everyone.size());
  found.is_read.resize(everyone.size());
  for (const rank_id r : opened) found.is_read[static_cast<std::size_t>(r)] = true;
  for (std::size_t r = 0; r < everyone.size(); ++r) {
    if (!same_host[r]) continue;
    std::vector<rank_id> theirs;
    from_bytes(everyone[r], theirs);
    found.reads_mine[r] = std::ranges::find(theirs, network.rank()) != theirs.end();
  }
  return found;
}

}  // namespace imbrex
