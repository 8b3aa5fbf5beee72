#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "imbrex/runtime/rank/pe_driver.h"
#include "imbrex/runtime/virtual_time/virtual_job.h"

namespace imbrex::detail {

/// Gives the PEs of one rank their turns in virtual time, and the GPUs of the machine that is simulated.
class virtual_driver final : public pe_driver {
 public:
  virtual_driver(virtual_job& job, rank_id rank) : job_(job), rank_(rank) {}

  std::optional<agreement_of_all>& agreement() override { return job_.agreement; }
  std::unique_ptr<pe_devices> open_devices() override;
  void take(rank_context& rank, std::function<void(std::size_t)> become) override;
  void run() override;

 private:
  virtual_job& job_;
  const rank_id rank_;
  std::vector<std::unique_ptr<virtual_pe>> pes_;
};

}  // namespace imbrex::detail
