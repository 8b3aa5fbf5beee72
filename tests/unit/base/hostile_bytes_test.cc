#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/base/hash.h>
#include <imbrex/base/serialize.h>

#include <functional>
#include <string>

namespace hostile_bytes_test {

using namespace imbrex;
using testing::HasSubstr;

namespace {

using bytes = std::vector<std::byte>;

struct plain {
  int a = 0;
  double b = 0;
  bool operator==(const plain&) const = default;
};

struct nested {
  std::string name;
  std::vector<plain> parts;
  std::optional<std::vector<std::string>> words;
  bool flag = false;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & name & parts & words & flag;
  }
};

struct nothing {
  template <class Archive>
  void serialize(Archive&) {}
};

struct shape {
  virtual ~shape() = default;
};
struct circle : shape {
  std::vector<double> radii;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & radii;
  }
};
struct named : shape {
  std::string name;
  std::unique_ptr<shape> inside;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & name & inside;
  }
};
const bool shapes_travel = register_derived<shape, circle>("circle") && register_derived<shape, named>("named");

template <class T>
std::string error_of(const bytes& b) {
  T value{};
  try {
    from_bytes(b, value);
  } catch (const comm_error& e) {
    return e.what();
  }
  return "no error";
}

bytes with_count(bytes b, std::uint64_t n, std::size_t at = 0) {
  std::memcpy(b.data() + at, &n, sizeof n);
  return b;
}

template <class T>
void expect_count_is_bounded(const T& value) {
  const bytes good = to_bytes(value);
  for (const std::uint64_t n :
       {std::uint64_t{1} << 26, std::uint64_t{1} << 40, std::uint64_t{1} << 62, ~std::uint64_t{0}})
    EXPECT_THAT(error_of<T>(with_count(good, n)), HasSubstr(fmt::format("names {} elements", n)));
}

TEST(hostile_bytes, a_count_is_bounded_by_the_bytes_that_are_left) {
  expect_count_is_bounded(std::vector<int>{1, 2});
  expect_count_is_bounded(std::string("text"));
  expect_count_is_bounded(std::vector<std::string>{"a"});
  expect_count_is_bounded(std::vector<nested>(1));
  expect_count_is_bounded(std::vector<nothing>(3));
  expect_count_is_bounded(std::vector<bool>{true, false});
  expect_count_is_bounded(std::vector<std::vector<double>>{{1}});
  expect_count_is_bounded(std::deque<int>{1});
  expect_count_is_bounded(std::list<std::string>{"a"});
  expect_count_is_bounded(std::map<int, std::string>{{1, "a"}});
  expect_count_is_bounded(std::set<int>{1});
  expect_count_is_bounded(std::unordered_map<std::string, int>{{"a", 1}});
  expect_count_is_bounded(std::vector<std::variant<int, std::string>>{1});
}

TEST(hostile_bytes, a_count_is_bounded_by_what_its_elements_take_at_least) {
  const auto good = to_bytes(std::vector<std::pair<std::string, std::vector<int>>>(2));
  using pairs = std::vector<std::pair<std::string, std::vector<int>>>;
  EXPECT_EQ(error_of<pairs>(good), "no error");
  EXPECT_THAT(error_of<pairs>(with_count(good, 3)), HasSubstr("names 3 elements where it has 32 bytes left"));
}

TEST(hostile_bytes, elements_without_bytes_travel_in_any_sensible_number) {
  const std::vector<nothing> many(100'000);
  std::vector<nothing> copy;
  from_bytes(to_bytes(many), copy);
  EXPECT_EQ(copy.size(), many.size());
}

TEST(hostile_bytes, an_index_that_no_variant_has_is_refused) {
  using either = std::variant<int, double>;
  const auto good = to_bytes(either(2.5));
  for (const std::uint64_t n : {std::uint64_t{2}, std::uint64_t{9}, ~std::uint64_t{0}})
    EXPECT_THAT(error_of<either>(with_count(good, n)), HasSubstr(fmt::format("variant index {}", n)));
}

TEST(hostile_bytes, flags_are_0_or_1) {
  EXPECT_THAT(error_of<bool>(bytes(1, std::byte{2})), HasSubstr("flag 2"));
  EXPECT_THAT(error_of<std::optional<char>>(bytes(2, std::byte{255})), HasSubstr("flag 255"));
  EXPECT_THAT(error_of<std::unique_ptr<char>>(bytes(2, std::byte{3})), HasSubstr("flag 3"));
  auto bools = to_bytes(std::vector<bool>{true});
  bools.back() = std::byte{7};
  EXPECT_THAT(error_of<std::vector<bool>>(bools), HasSubstr("flag 7"));
}

TEST(hostile_bytes, what_is_left_over_is_refused_with_the_name_of_the_type) {
  EXPECT_THAT(error_of<int>(bytes(100)), HasSubstr("96 bytes are left over of a message read as int"));
  auto b = to_bytes(nested{"n", {}, {}, true});
  b.push_back(std::byte{0});
  EXPECT_THAT(error_of<nested>(b), HasSubstr("nested"));
}

TEST(hostile_bytes, an_unknown_derived_class_is_refused) {
  std::unique_ptr<shape> s = std::make_unique<circle>();
  auto b = to_bytes(s);
  b[1 + 8] = std::byte{'x'};
  EXPECT_THAT(error_of<std::unique_ptr<shape>>(b), HasSubstr("'xircle'"));
  b[0] = std::byte{1};  // an object of the abstract-like base itself
  EXPECT_THAT(error_of<std::unique_ptr<shape>>(b), HasSubstr("kind of owned object 1"));
}

// --------------------------------------------------------------------------------- at random

/// A value of each type, and whether bytes can be read as that type without harm.
struct subject {
  const char* what;
  bytes good;
  std::function<void(const bytes&)> read;
};

template <class T>
subject of(const char* what, const T& value) {
  return {what, to_bytes(value), [](const bytes& b) {
            T read{};
            from_bytes(b, read);
            EXPECT_EQ(to_bytes(read).size(), serialized_size(read));
          }};
}

std::vector<subject> subjects() {
  std::unique_ptr<shape> whole = std::make_unique<named>();
  static_cast<named&>(*whole).inside = std::make_unique<circle>();
  static_cast<circle&>(*static_cast<named&>(*whole).inside).radii = {1, 2, 3};
  std::vector<subject> all;
  all.push_back(of("int", 42));
  all.push_back(of("bool", true));
  all.push_back(of("string", std::string("hello, world")));
  all.push_back(of("vector<double>", std::vector<double>{1, 2, 3, 4}));
  all.push_back(of("vector<bool>", std::vector<bool>{true, false, true}));
  all.push_back(of("vector<string>", std::vector<std::string>{"a", "", "ccc"}));
  all.push_back(of("vector<vector<int>>", std::vector<std::vector<int>>{{1}, {}, {2, 3}}));
  all.push_back(of("vector<nested>", std::vector<nested>{{"a", {{1, 2}}, {{"x", "y"}}, true}, {}}));
  all.push_back(of("deque<list<string>>", std::deque<std::list<std::string>>{{"a"}, {}}));
  all.push_back(of("map<string, vector<bool>>", std::map<std::string, std::vector<bool>>{{"a", {true}}, {"b", {}}}));
  all.push_back(of("unordered_map<int, optional<string>>",
                   std::unordered_map<int, std::optional<std::string>>{{1, "a"}, {2, {}}}));
  all.push_back(of("set<string>", std::set<std::string>{"p", "q"}));
  all.push_back(of("variant", std::variant<int, std::string, std::vector<plain>>(std::vector<plain>{{1, 2}})));
  all.push_back(of("tuple", std::tuple<int, std::vector<int>, std::variant<bool, std::string>>(1, {2}, "three")));
  all.push_back(of("array<string, 2>", std::array<std::string, 2>{"x", "y"}));
  all.push_back(of("array<array<double, 600>, 1>", std::array<std::array<double, 600>, 1>{}));
  all.push_back(of("optional<pair>", std::optional<std::pair<int, std::string>>({1, "one"})));
  all.push_back(of("shared_ptr<vector<string>>", std::make_shared<std::vector<std::string>>(2, "s")));
  all.push_back(of("unique_ptr<shape>", whole));
  return all;
}

bytes mutated(bytes b, random_sequence& random) {
  const std::uint64_t changes = 1 + random.below(4);
  for (std::uint64_t i = 0; i < changes; ++i) {
    const std::uint64_t at = b.empty() ? 0 : random.below(b.size());
    switch (random.below(6)) {
      case 0: b.resize(at); break;
      case 1: b.insert(b.end(), 1 + random.below(20), static_cast<std::byte>(random.below(256))); break;
      case 2:  // one bit
        if (!b.empty()) b[at] ^= static_cast<std::byte>(1 << random.below(8));
        break;
      case 3:  // one byte
        if (!b.empty()) b[at] = static_cast<std::byte>(random.below(256));
        break;
      case 4:  // a number
        if (b.size() >= 8) {
          const std::uint64_t n = random.below(2) == 0 ? random.below(64) : ~std::uint64_t{0} >> random.below(64);
          std::memcpy(b.data() + random.below(b.size() - 7), &n, sizeof n);
        }
        break;
      default:  // something twice
        if (!b.empty())
          b.insert(b.begin() + static_cast<std::ptrdiff_t>(at), b.begin(), b.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  return b;
}

TEST(hostile_bytes, whatever_arrives_is_a_value_or_an_error_of_imbrex) {
  constexpr int rounds = 4000;
  random_sequence random(20);
  for (const subject& s : subjects()) {
    int values = 0;
    int errors = 0;
    for (int i = 0; i < rounds; ++i) {
      const bytes b = mutated(s.good, random);
      try {
        s.read(b);
        ++values;
      } catch (const error&) {
        ++errors;
      } catch (const std::exception& e) {
        FAIL() << s.what << ": " << e.what() << " after " << i << " rounds";
      }
    }
    EXPECT_EQ(values + errors, rounds) << s.what;
    EXPECT_GT(errors, 0) << s.what;
  }
}

TEST(hostile_bytes, every_beginning_of_a_message_is_too_short_for_it) {
  for (const subject& s : subjects()) {
    for (std::size_t n = 0; n < s.good.size(); ++n) {
      EXPECT_THROW(s.read(bytes(s.good.begin(), s.good.begin() + static_cast<std::ptrdiff_t>(n))), comm_error)
          << s.what << " cut to " << n << " bytes";
    }
    EXPECT_NO_THROW(s.read(s.good)) << s.what;
  }
}

}  // namespace

}  // namespace hostile_bytes_test
