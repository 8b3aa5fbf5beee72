#include "imbrex/base/serialize.h"

#include <gtest/gtest.h>

namespace serialize_test {

using namespace imbrex;

namespace {

enum class colour { red, green };

struct plain {
  int a = 0;
  double b = 0;
  bool operator==(const plain&) const = default;
};

struct with_member {
  std::string name;
  std::vector<plain> parts;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, parts);
  }
  bool operator==(const with_member&) const = default;
};

struct with_free {
  std::vector<int> v;
  bool operator==(const with_free&) const = default;
};
template <class Archive>
void serialize(Archive& ar, with_free& f) {
  ar & f.v;
}

template <class T>
T there_and_back(const T& value) {
  T copy{};
  from_bytes(to_bytes(value), copy);
  return copy;
}

template <class T>
void expect_same(const T& value) {
  EXPECT_EQ(there_and_back(value), value);
}

TEST(serialize, values_of_all_sorts_come_back_equal) {
  expect_same(42);
  expect_same(-1.5);
  expect_same(colour::green);
  expect_same(plain{1, 2});
  expect_same(std::string("hello"));
  expect_same(std::string());
  expect_same(std::vector<double>{1, 2, 3});
  expect_same(std::vector<bool>{true, false, true});
  expect_same(std::vector<std::string>{"a", "", "ccc"});
  expect_same(std::vector<std::vector<int>>{{1}, {}, {2, 3}});
  expect_same(std::array<std::string, 2>{"x", "y"});
  expect_same(std::array<int, 3>{1, 2, 3});
  expect_same(std::pair<int, std::string>(1, "one"));
  expect_same(std::tuple<int, std::vector<int>, std::string>(1, {2}, "three"));
  expect_same(std::map<std::string, std::vector<int>>{{"a", {1}}, {"b", {}}});
  expect_same(std::unordered_map<int, std::string>{{1, "a"}, {2, "b"}});
  expect_same(std::set<int>{3, 1, 2});
  expect_same(std::optional<std::string>("yes"));
  expect_same(std::optional<std::string>());
  expect_same(std::variant<int, std::string>("text"));
  expect_same(std::variant<int, std::string>(7));
  expect_same(std::deque<int>{1, 2, 3});
  expect_same(std::list<std::string>{"a", "b"});
  expect_same(with_member{"n", {{1, 2}, {3, 4}}});
  expect_same(with_free{{1, 2, 3}});
  expect_same(std::vector<with_member>{{"a", {}}, {"b", {{5, 6}}}});
  expect_same(std::complex<double>(1, 2));
}

TEST(serialize, owned_objects_come_back_equal) {
  const auto copy = there_and_back(std::unique_ptr<std::string>());
  EXPECT_EQ(copy, nullptr);
  std::unique_ptr<std::string> text;
  from_bytes(to_bytes(std::make_unique<std::string>("owned")), text);
  EXPECT_EQ(*text, "owned");
}

TEST(serialize, the_size_is_known_beforehand) {
  const with_member value{"abc", {{1, 2}}};
  EXPECT_EQ(to_bytes(value).size(), serialized_size(value));
}

TEST(serialize, a_message_that_is_too_short_is_a_named_error) {
  auto bytes = to_bytes(std::vector<int>{1, 2, 3});
  bytes.resize(bytes.size() - 1);
  std::vector<int> v;
  EXPECT_THROW(from_bytes(bytes, v), comm_error);
  double d = 0;
  EXPECT_THROW(from_bytes(std::vector<std::byte>(3), d), comm_error);
}

}  // namespace

}  // namespace serialize_test
