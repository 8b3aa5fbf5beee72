#include "job.h"

#include <string>
#include <utility>
#include <vector>

#include "home.h"
#include "signals.h"
#include "wait.h"

namespace imbrex_python {

namespace {

constexpr const char* the_main_chare = "the main chare";

/// What a method of the program (imbrex/_main.py) gives.
template <class F>
auto asked_of(PyObject* main, F f) {
  const with_python here;
  try {
    return f(nb::handle(main));
  } catch (nb::python_error& e) {
    throw python_failure::of(e, the_main_chare);
  }
}

owned coroutine(nb::object made) { return owned(made.release().ptr()); }

/// Its exit code.
ix::task<int> until_over(owned main) {
  auto run = drive(std::move(main), the_main_chare);
  const value result = co_await std::move(run);
  const with_python here;
  const nb::object returned = result.get();
  int code = 0;
  if (!returned.is_none() && !nb::try_cast(returned, code)) {
    throw ix::usage_error("the main chare has returned " + shown(returned) + ": an exit code, or nothing");
  }
  co_return code;
}

/// What `restart` needs of the program.
void keep_in_checkpoints(PyObject* main) {
  ix::checkpointer::of(ix::scheduler::current()).leader().saves_program_by([main] {
    value state = asked_of(main, [](nb::handle m) { return value::pickled(m.attr("save")()); });
    return ix::to_bytes(state);
  });
}

ix::task<int> start(ix::runtime& rt, std::vector<std::string> words, PyObject* main, bool can_restart) {
  if (can_restart) keep_in_checkpoints(main);
  owned begun =
      asked_of(main, [&](nb::handle m) { return coroutine(m.attr("begin")(runtime_handle(rt), std::move(words))); });
  auto all = until_over(std::move(begun));
  co_return co_await std::move(all);
}

ix::task<int> restart(ix::runtime& rt, std::vector<std::string> words, std::vector<std::byte> saved, PyObject* main) {
  keep_in_checkpoints(main);
  value state;
  ix::from_bytes(saved, state);
  owned begun = asked_of(main, [&](nb::handle m) {
    return coroutine(m.attr("begin_again")(runtime_handle(rt), std::move(words), state.get()));
  });
  auto all = until_over(std::move(begun));
  co_return co_await std::move(all);
}

/// Without the interpreter, which PEs take when they run Python.
int run_without_lock(int argc, char** argv, PyObject* main, bool can_restart) {
  const nb::gil_scoped_release others_may;
  struct at_the_end {
    ~at_the_end() { job_is_over(); }
  } const over;
  ix::detail::main_program program;
  program.start = [=](ix::runtime& rt, std::vector<std::string> words) {
    return start(rt, std::move(words), main, can_restart);
  };
  if (can_restart) {
    program.restart = [=](ix::runtime& rt, std::vector<std::string> words, std::vector<std::byte> saved) {
      return restart(rt, std::move(words), std::move(saved), main);
    };
  }
  program.between_runs = &job_is_over;  // what Python still has of the PEs that are gone
  return ix::detail::run_job(argc, argv, program);
}

/// Words as `main` has them.
int run(std::vector<std::string> words, const nb::object& main) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  const int code = run_without_lock(argc, argv.data(), main.ptr(), nb::cast<bool>(main.attr("can_restart")));
  throw_what_signals_threw();
  return code;
}

}  // namespace

void bind_job(nb::module_& m) { m.def("run", &run); }

}  // namespace imbrex_python
