#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

/// What the tool's command line says of itself, for manual pages and completion.

/// In the order in which they were added.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// A command, at any depth, and its words, as in "trace summary".
struct named_command {
  std::string words;
  const CLI::App* app;
};
/// All of them, each before those that belong to it.
std::vector<named_command> all_commands(const CLI::App& app);

/// `--long` and `-s` names, with dashes.
std::vector<std::string> options_of(const CLI::App& app);

/// What may stand there, as far as it is known; of a choice, or by `offers`.
std::vector<std::string> values_of(const CLI::Option& option);

/// Names values for help and completion, and accepts others, too.
CLI::Validator offers(const std::vector<std::string>& values);

/// Whether another program has the options of this command: only that can tell of them.
bool is_other_program(const CLI::App& app);
