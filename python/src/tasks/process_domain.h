#pragma once

#include <imbrex/imbrex.h>
#include <nanobind/nanobind.h>

#include <cstdint>

#include "objects.h"

namespace imbrex_python {

/// The domain that all PEs of a process use, in Python.
class domain_handle {
 public:
  explicit domain_handle(ix::hetero_domain& d) : domain_(&d), job_(job_number()) {}
  /// Throws `usage_error` in another process, and after the job.
  ix::hetero_domain& here() const;

 private:
  ix::hetero_domain* domain_;
  std::uint64_t job_;
};

void bind_process_domain(nb::module_& m);

}  // namespace imbrex_python
