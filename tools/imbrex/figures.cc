#include <CLI/App.hpp>
#include <functional>

#include "commands.h"
#include "python_program.h"

void add_figures_command(CLI::App& app, std::function<int()>& command) {
  CLI::App* sub = app.add_subcommand("figures", "measure the figures of the papers on this machine, and draw them");
  sub->set_help_flag();  // the other program has it
  sub->prefix_command();
  sub->callback([sub, &command] { command = [sub] { return become_python("figures", sub->remaining()); }; });
}
