#pragma once

#include <imbrex/base/config.h>

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

/// Each command declares its arguments and, when it is the one chosen, sets `command` to what it does; that returns
/// the exit code. `settings` and `command` outlive the parse.
void add_info_command(CLI::App& app, const imbrex::config& settings, std::function<int()>& command);
/// `words`: the whole command line, with the options of the runtime.
void add_doctor_command(CLI::App& app, const std::vector<std::string>& words, std::function<int()>& command);
void add_new_command(CLI::App& app, std::function<int()>& command);
/// \name They describe `app` as it is when they run
///@{
void add_completion_command(CLI::App& app, std::function<int()>& command);
void add_man_command(CLI::App& app, std::function<int()>& command);
///@}
void add_trace_command(CLI::App& app, std::function<int()>& command);
void add_mpi_check_command(CLI::App& app, std::function<int()>& command);
void add_checkpoint_info_command(CLI::App& app, std::function<int()>& command);
void add_figures_command(CLI::App& app, std::function<int()>& command);
void add_machines_command(CLI::App& app, std::function<int()>& command);
void add_predict_command(CLI::App& app, std::function<int()>& command);
void add_balance_replay_command(CLI::App& app, std::function<int()>& command);
/// `job`: what stands behind `--`.
void add_run_command(CLI::App& app, const std::vector<std::string>& job, std::function<int()>& command);
/// `words`: the whole command line, with the options of the runtime.
void add_tune_command(CLI::App& app, const imbrex::config& settings, const std::vector<std::string>& words,
                      std::function<int()>& command);
/// The same.
void add_measure_machine_command(CLI::App& app, const imbrex::config& settings, const std::vector<std::string>& words,
                                 std::function<int()>& command);
