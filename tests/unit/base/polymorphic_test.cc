#include "imbrex/base/polymorphic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace polymorphic_test {

using namespace imbrex;
using testing::HasSubstr;

namespace {

struct animal {
  virtual ~animal() = default;
  virtual std::string sound() const = 0;
  int legs = 4;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & legs;
  }
};
struct dog : animal {
  std::string sound() const override { return "woof, says " + name; }
  std::string name;
  template <class Archive>
  void serialize(Archive& ar) {
    animal::serialize(ar);
    ar & name;
  }
};
struct pack : animal {
  std::string sound() const override {
    std::string all;
    for (const auto& m : members) all += m->sound() + "; ";
    return all;
  }
  std::vector<std::unique_ptr<animal>> members;
  template <class Archive>
  void serialize(Archive& ar) {
    animal::serialize(ar);
    ar & members;
  }
};
struct stray : dog {};
struct cat : animal {
  std::string sound() const override { return "meow"; }
  template <class Archive>
  void serialize(Archive& ar) {
    animal::serialize(ar);
  }
};

const bool travel = register_derived<animal, dog>("dog") && register_derived<animal, pack>("pack");

/// Has virtual functions, but can be an object itself.
struct plan {
  virtual ~plan() = default;
  int steps = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & steps;
  }
};
struct long_plan : plan {
  std::vector<int> more;
  template <class Archive>
  void serialize(Archive& ar) {
    plan::serialize(ar);
    ar & more;
  }
};

template <class T>
T there_and_back(const T& value) {
  T copy{};
  from_bytes(to_bytes(value), copy);
  return copy;
}

std::unique_ptr<dog> make_dog(const std::string& name, int legs) {
  auto d = std::make_unique<dog>();
  d->name = name;
  d->legs = legs;
  return d;
}

TEST(polymorphic, an_object_of_a_derived_class_travels_whole) {
  const auto copy = there_and_back<std::unique_ptr<animal>>(make_dog("Rex", 3));
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->sound(), "woof, says Rex");
  EXPECT_EQ(copy->legs, 3);
  EXPECT_EQ(there_and_back<std::unique_ptr<animal>>(nullptr), nullptr);
}

TEST(polymorphic, shared_and_const_pointers_travel_alike) {
  EXPECT_EQ(there_and_back<std::shared_ptr<animal>>(make_dog("Ida", 4))->sound(), "woof, says Ida");
  EXPECT_EQ(there_and_back<std::shared_ptr<const animal>>(make_dog("Ida", 4))->sound(), "woof, says Ida");
  EXPECT_EQ(*there_and_back(std::make_shared<const std::string>("text")), "text");
  EXPECT_EQ(there_and_back(std::shared_ptr<std::string>()), nullptr);
}

TEST(polymorphic, objects_inside_objects_travel_too) {
  auto p = std::make_unique<pack>();
  p->members.push_back(make_dog("A", 4));
  p->members.push_back(std::make_unique<pack>());
  static_cast<pack&>(*p->members.back()).members.push_back(make_dog("B", 4));
  EXPECT_EQ(there_and_back<std::unique_ptr<animal>>(std::move(p))->sound(), "woof, says A; woof, says B; ; ");
}

TEST(polymorphic, a_class_that_is_not_registered_is_refused_where_it_is_sent) {
  const std::unique_ptr<animal> lost = std::make_unique<stray>();
  try {
    to_bytes(lost);
    FAIL() << "nothing was thrown";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("stray"));
    EXPECT_THAT(e.what(), HasSubstr("register_derived<"));
  }
}

TEST(polymorphic, an_object_of_the_base_itself_needs_no_name_but_others_are_not_cut_down_to_it) {
  auto p = std::make_unique<plan>();
  p->steps = 7;
  EXPECT_EQ(there_and_back(p)->steps, 7);
  EXPECT_THROW(to_bytes(std::unique_ptr<plan>(std::make_unique<long_plan>())), usage_error);
  EXPECT_TRUE((register_derived<plan, long_plan>("long")));
  auto longer = std::make_unique<long_plan>();
  longer->more = {1, 2};
  const auto copy = there_and_back<std::unique_ptr<plan>>(std::move(longer));
  ASSERT_NE(dynamic_cast<long_plan*>(copy.get()), nullptr);
  EXPECT_EQ(static_cast<long_plan&>(*copy).more, (std::vector<int>{1, 2}));
}

TEST(polymorphic, a_name_stands_for_one_class) {
  EXPECT_TRUE((register_derived<animal, dog>("dog")));  // again: no harm
  EXPECT_THROW((register_derived<animal, cat>("dog")), usage_error);
  EXPECT_THROW((register_derived<animal, dog>("hound")), usage_error);
}

}  // namespace

}  // namespace polymorphic_test
