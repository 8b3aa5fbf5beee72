// Included in the unnamed namespaces of two files: other classes of one name, whose code differs in a text.

struct worker : ix::chare<worker, ix::index1d> {
  std::string which() { return IMBREX_TEST_FILE; }
  void hear(ix::element_proxy<worker> first) { first.send<&worker::heard>(std::string(IMBREX_TEST_FILE)); }
  ix::task<std::string> wait_for_slot() {
    auto message = co_await heard();
    co_return std::get<0>(message);
  }
  ix::task<std::string> wait_for_note() {
    auto message = co_await noted(1);
    co_return std::get<0>(message) + IMBREX_TEST_FILE;
  }
  void called_back(int) { told.set(); }
  ix::task<std::string> wait_for_callback() {
    co_await told;
    co_return IMBREX_TEST_FILE;
  }
  ix::slot<std::string> heard;
  ix::when<int, std::string> noted;
  ix::completion told;
};

struct single : ix::chare<single> {
  std::string which() { return IMBREX_TEST_FILE; }
};

ix::task<answers> ask(ix::runtime& rt) {
  answers a;
  const auto workers = rt.create_array<worker>(ix::index1d(3));
  a.called = co_await workers[2].call<&worker::which>();
  workers.broadcast<&worker::hear>(workers[1]);
  a.broadcast = co_await workers[1].call<&worker::wait_for_slot>();
  workers[0].send<&worker::noted>(1, std::string());
  a.slot = co_await workers[0].call<&worker::wait_for_note>();
  const auto alone = rt.create<single>();
  a.single = co_await alone.call<&single::which>();
  alone.erase();
  const auto back = ix::callback<int>::to<&worker::called_back>(workers[2]);
  back.send(1);
  a.callback = co_await workers[2].call<&worker::wait_for_callback>();
  co_return a;
}
