#pragma once

#include <string>
#include <vector>

#include "imbrex/base/ids.h"

/// How fast PEs are: what an element costs is measured where it is, and wanted for where it may go.
namespace imbrex {

/// How `--imbrex-balance-rates` says that PEs compare: all are alike, each is measured, or one number for each PE.
/// Throws `config_error` for a text that says nothing of that, and for numbers of other than `num_pes` PEs (0: not
/// known yet).
class pe_rates {
 public:
  explicit pe_rates(const std::string& text, int num_pes = 0);

  bool are_measured() const { return measured_; }
  /// Of a PE, compared with others, where that is given or all are alike.
  double of(pe_id pe) const { return given_.empty() ? 1 : given_[static_cast<std::size_t>(pe)]; }

 private:
  bool measured_ = false;
  std::vector<double> given_;
};

/// Throws what the constructor throws.
inline void check_pe_rates(const std::string& text, int num_pes = 0) {
  static_cast<void>(pe_rates(text, num_pes).are_measured());
}

/// How many steps of a small computation with numbers in its nearest cache the calling thread's core does in a
/// nanosecond in which it has the core: 0.2 ms, of which the best part counts.
double measured_speed();

/// As rates, of which the highest is 1: measured ones differ by chance, so those above nine tenths are 1 and others go
/// in steps of a twentieth. What is not known (0) is 1.
std::vector<double> rates_of(std::vector<double> speeds, bool are_measured);

}  // namespace imbrex
