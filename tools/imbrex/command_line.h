#pragma once

#include <imbrex/base/config.h>
#include <CLI/App.hpp>
#include <string>
#include <vector>

/// Whose the words of a command line are: the runtime's options (`--imbrex-...`) among them may be another program's.

/// The number of the command's word, as in `imbrex --imbrex-log debug predict`; `argc` where there is none.
int place_of_command(int argc, char** argv);

/// Of `imbrex run`: takes the command of the job, behind `--`, off the command line: its words are not ours.
std::vector<std::string> take_job(int& argc, char** argv);

/// Takes the runtime's options out of the command line, but for those that stand behind predict, figures and mpi-check:
/// they are handed on with the other words of the program that these start. Throws as `read_runtime_config` does.
imbrex::config read_own_options(int& argc, char** argv);

/// What is wrong with the command line, as imbrex words its messages.
std::string complaint(const CLI::ParseError& e, const CLI::App& app, int argc, char** argv);
