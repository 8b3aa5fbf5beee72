#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "imbrex/hetero/tasks/task_recording.h"
#include "imbrex/hetero/windows/device_plan.h"
#include "imbrex/hetero/windows/device_window.h"

namespace imbrex {

/// What a `task_window` refers to. Counted references: of handles and of replays under way. For the domain's PE.
struct recorded_window final : task_recording {
  explicit recorded_window(hetero_domain& d) : domain(&d) {}
  ~recorded_window();
  recorded_window(const recorded_window&) = delete;

  struct use {
    hetero_data* data;
    access_mode mode;
  };
  /// What a replay is.
  enum class kind {
    in_order,     ///< one task of the host
    on_device,    ///< one task, on a device that is chosen each time
    on_devices,   ///< one task, on several devices, always the same
    task_by_task  ///< as many as were recorded
  };

  hetero_domain* domain;
  std::uint32_t references = 1;
  kind replays = kind::in_order;
  std::vector<place*> devices;                                     ///< `on_device`: on which of them it could run
  device_window* last = nullptr;                                   ///< the last replay's as a whole
  std::map<const place*, std::unique_ptr<device_window>> on_each;  ///< where it has been replayed on one device
  std::unique_ptr<device_window> on_several;
  std::vector<task_node*> tasks;                                ///< never submitted; `age` is the position, from 1
  std::vector<std::uint64_t> may_run_on;                        ///< by task: bits by place
  std::vector<use> uses;                                        ///< each object once: what the window does with it
  std::vector<std::pair<std::uint64_t, std::uint64_t>> orders;  ///< by `age`: a task, and one that it waits for

  void keep(task_node& t, std::span<const hetero_task> after) override;
  bool has(const task_node& t) const override;
  bool writes_to(const hetero_data& d) const override;
  /// Once, when all are there.
  void sum_up();
  bool is_one_task_of_devices() const { return replays == kind::on_device || replays == kind::on_devices; }
  /// Of a replay on one device: the one that has most of its data, and has least to do; among equals, where it was
  /// last.
  device_window& on_one();
  void release() {
    if (--references == 0) delete this;
  }

 private:
  bool sum_up_uses();
  bool connects_all() const;
  void choose_kind(bool as_one);
  std::uint64_t bytes() const;
  void plan_over(const std::vector<place*>& several);
  window_jobs jobs_on(const std::vector<place*>& several) const;
  double expected_ns(task_node& t, const std::vector<place*>& several) const;
};

}  // namespace imbrex
