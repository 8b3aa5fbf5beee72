// The data of a device buffer as the driver can copy it: every run in one allocation.
#pragma once

#include "driver/data_runs.h"
#include "driver/device_context.h"

namespace imbrex::sessions::IX_MPI {

/// `runs` from `base`, cut where an allocation ends. Ends the process when some lie in host memory, or in memory of
/// another context than `owner`.
std::vector<data_run> pieces_on_device(const char* base, const data_runs& runs, const device_context* owner);

/// Ends the process when some of the runs, which begin and end in host memory, lie on a device.
void refuse_device_within(const char* base, const data_runs& runs);

/// Ends the process for a buffer that lies in both memories, at these addresses.
[[noreturn]] void refuse_both_memories(const void* one, const void* other);

}  // namespace imbrex::sessions::IX_MPI
