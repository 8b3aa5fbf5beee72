#include <CLI/App.hpp>
#include <functional>

#include "commands.h"
#include "python_program.h"

void add_predict_command(CLI::App& app, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("predict", "tell what a program takes on a machine that is simulated");
  sub->set_help_flag();  // the other program has it
  sub->prefix_command();
  sub->callback([sub, &command] { command = [sub] { return become_python("predict", sub->remaining()); }; });
}
