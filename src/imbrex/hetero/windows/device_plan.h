#pragma once

#include <cstdint>
#include <vector>

#include "imbrex/hetero/access_mode.h"

namespace imbrex {

/// What decides on which of several devices the tasks of a window should run: what each takes, what it uses, and what
/// it costs to bring that from one device to another. Objects are numbers from 0.
struct window_jobs {
  struct use {
    std::uint32_t object = 0;
    access_mode mode = access_mode::read;
  };
  struct job {
    double ns = 0;
    std::uint64_t may_run_on = 0;  ///< bits by device; at least one
    std::vector<use> uses;
    std::vector<std::uint32_t> after;  ///< earlier jobs that it waits for besides
  };
  std::vector<job> jobs;           ///< in the order of recording
  std::vector<double> ns_to_move;  ///< by object
  int num_devices = 1;
};

/// By job: its device; and how long all of them are expected to take, again and again.
struct device_plan {
  std::vector<std::uint8_t> device_of;
  double ns = 0;
};

/// Where each job runs, device after device busy with one at a time, and how long that takes: what changes begins where
/// it is changed last.
double expected_ns(const window_jobs& w, const std::vector<std::uint8_t>& device_of);

/// The most urgent first, by the longest way from there to the end (upward rank), each where it is over first (HEFT:
/// Topcuoglu, Hariri and Wu 2002).
device_plan plan_by_rank(const window_jobs& w);

/// Jobs that could run at once, in the order of recording, in parts of equal work: neighbours stay together.
device_plan plan_by_levels(const window_jobs& w);

/// The better one of both.
device_plan plan_over_devices(const window_jobs& w);

}  // namespace imbrex
