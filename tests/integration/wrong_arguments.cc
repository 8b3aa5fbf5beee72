/// A program with many mistakes when MISTAKES is defined, each of which the compiler must name in words.
#include <imbrex/imbrex.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ix = imbrex;

struct other : ix::chare<other, ix::index1d> {
  void method() {}
};

struct block : ix::chare<block, ix::index1d> {
  void take(int, std::string) {}
  ix::task<> run(int) { co_return; }
  ix::when<int, double> slot;
  void move_only(std::unique_ptr<int>) {}
#ifdef MISTAKES  // expect: an entry method takes its arguments by value, const reference or rvalue reference
  void mutable_reference(int&) {}
#endif
#ifdef MISTAKES  // expect: an entry method that is a coroutine takes its arguments by value
  ix::task<> coroutine_reference(const std::string&) { co_return; }
#endif
  int number = 0;
};

struct no_default : ix::chare<no_default, ix::index1d> {
  explicit no_default(int) {}
};

#ifdef MISTAKES
struct copied : ix::chare<block, ix::index1d> {};  // named as another class
#endif
struct derived : block {};

struct opaque {
  int* pointer = nullptr;
};
struct hidden {
  double weight = 0;
  opaque inside[2];
};
struct labelled {
  long number = 0;
  std::string_view label;
};

struct shape {
  virtual ~shape() = default;
  template <class Archive>
  void serialize(Archive&) {}
};
struct circle : shape {
  double radius = 1;
};

struct keeper : ix::chare<keeper, ix::index1d> {
  void take(opaque) {}
  void take_hidden(std::vector<hidden>) {}
  void take_labelled(labelled) {}
  void take_text(std::string_view) {}
  void take_numbers(std::span<const double>) {}
  void take_pointer(const int*) {}
};

ix::task<int> start(ix::runtime& rt) {
  auto blocks = rt.create_array<block>(ix::index1d(4));
  auto one = blocks[0];
  one.send<&block::take>(1, "text");
  one.send<&block::slot>(1, 0.5);
  one.send<&block::run>(1);
#ifdef MISTAKES  // expect: this entry method takes another number of arguments
  one.send<&block::take>(1);
#endif
#ifdef MISTAKES  // expect: the arguments given do not match the parameters of this entry method
  one.send<&block::take>("one", "text");
#endif
#ifdef MISTAKES  // expect: this entry method takes another number of arguments
  one.send<&block::slot>(1, 0.5, 7);
#endif
#ifdef MISTAKES  // expect: this entry method takes another number of arguments
  blocks.broadcast<&block::run>();
#endif
#ifdef MISTAKES  // expect: this entry method takes another number of arguments
  co_await one.call<&block::take>(1, 2, 3);
#endif
#ifdef MISTAKES  // expect: this entry method belongs to another chare type than the proxy
  one.send<&other::method>();
#endif
#ifdef MISTAKES  // expect: an entry is named by a pointer to a member function or to a `when` slot of a chare
  one.send<&block::number>(1);
#endif
#ifdef MISTAKES  // expect: a when slot has no result to wait for: use send
  co_await one.call<&block::slot>(1, 0.5);
#endif
#ifdef MISTAKES  // expect: the arguments of a broadcast are copied to every element, so their types must be copyable
  blocks.broadcast<&block::move_only>(std::make_unique<int>(1));
#endif
#ifdef MISTAKES  // expect: this chare has no constructor for (const references to) these arguments
  rt.create_array<no_default>(ix::index1d(4), "text");
#endif
#ifdef MISTAKES  // expect: this chare has no constructor for these arguments
  rt.create_array<no_default>(ix::empty_array<ix::index1d>(), 1).insert(1, "text");
#endif
  rt.create_array<derived>(ix::index1d(4));
#ifdef MISTAKES  // expect: this class derives from ix::chare of another class
  rt.create_array<copied>(ix::index1d(4));
#endif
#ifdef MISTAKES  // expect: create makes singletons
  rt.create<block>();
#endif
#ifdef MISTAKES  // expect: this chare has no constructor for (const references to) these arguments
  rt.create_array<no_default>(ix::index1d(4));
#endif
#ifdef MISTAKES  // expect: this class only has the serialize of its base, which leaves its own members behind
  ix::register_derived<shape, circle>("circle");
#endif
#ifdef MISTAKES
  one.send<&block::mutable_reference>(1);
#endif
#ifdef MISTAKES
  one.send<&block::coroutine_reference>("text");
#endif
  ix::hetero_object<double> x(4);
  ix::submit({.name = "fill"}, [](std::span<double> v) { v[0] = 0; }, write(x));
#ifdef MISTAKES  // expect: a task's function is no coroutine
  ix::submit({}, [](std::span<double>) -> ix::task<> { co_return; }, x);
#endif
  auto access = x.host(ix::access_mode::read);
  const auto view = co_await access;
  co_return static_cast<int>(view[0]);
}

// What a message would carry as an address.
void send_addresses(ix::array_proxy<keeper> keepers) {
#ifdef MISTAKES  // expect: this type has a pointer or view among its members
  keepers[0].send<&keeper::take>(opaque{});
#endif
#ifdef MISTAKES  // expect: this type has a pointer or view among its members
  keepers[0].send<&keeper::take_hidden>(std::vector<hidden>(1));
#endif
#ifdef MISTAKES  // expect: this type has a pointer or view among its members
  keepers[0].send<&keeper::take_labelled>(labelled{});
#endif
#ifdef MISTAKES  // expect: a pointer, view or iterator means nothing on another rank
  keepers[0].send<&keeper::take_text>("text");
#endif
#ifdef MISTAKES  // expect: a pointer, view or iterator means nothing on another rank
  keepers[0].send<&keeper::take_numbers>(std::span<const double>());
#endif
#ifdef MISTAKES  // expect: a pointer, view or iterator means nothing on another rank
  keepers[0].send<&keeper::take_pointer>(nullptr);
#endif
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
