#pragma once

#include <vector>

#include "imbrex/base/ids.h"
#include "imbrex/comm/transport.h"
#include "imbrex/device/device.h"

namespace imbrex {

/// Between which ranks devices read each other's memory where it is.
struct memory_sharing {
  std::vector<bool> reads_mine;  ///< by rank: all its devices read the memory of all of this rank's
  std::vector<bool> is_read;     ///< by rank: all devices of this one read that of all of its
};

/// Finds out by trying, with some bytes of each device: what a machine says is possible need not be so in a container,
/// a namespace of its own, or a part of a GPU. Collective: every rank calls it before the transport starts.
/// `same_host[r]`: whether rank r may be tried. What does not work is said in the log (level info), once for each rank.
memory_sharing agree_on_sharing(transport& network, const std::vector<bool>& same_host,
                                const std::vector<device*>& devices);

}  // namespace imbrex
