#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "imbrex/base/error.h"
#include "imbrex/checkpoint/disk_file.h"
#include "imbrex/checkpoint/snapshot_format.h"
#include "unit/checkpoint/checkpoint_fixture.h"

namespace snapshot_faults_test {

namespace {

using namespace checkpoint_test;
using namespace imbrex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

/// Two checkpoints of two ranks; things happen to the second.
struct snapshot_faults : checkpoint_fixture {
  void SetUp() override {
    checkpoint_fixture::SetUp();
    if (IsSkipped()) return;
    older = write_sample(base, 2);
    newer = write_sample(base, 2);
  }
  snapshot_error opening(const std::string& path, const snapshot_checks& checks = {}) const {
    return error_of([&] { snapshot_reader r(path, checks); });
  }
  std::string file(int rank) const { return rank_file_path(newer, rank); }
  std::string older_is_whole() const { return ": " + older + " is whole: restart from " + older; }

  void expect_older_remains(const snapshot_error& e, snapshot_fault fault, const std::string& name) const {
    EXPECT_EQ(e.fault(), fault) << e.what();
    EXPECT_EQ(e.file(), name);
    EXPECT_THAT(e.what(), StartsWith(name + ' '));
    EXPECT_THAT(e.what(), EndsWith(older_is_whole()));
    EXPECT_STREQ(e.kind(), "checkpoint");
    const latest_checkpoint latest = find_latest(base, {check_depth::payloads, own_program});
    EXPECT_EQ(latest.path, older);
    ASSERT_EQ(latest.skipped.size(), 1u);
    EXPECT_EQ(latest.skipped[0].fault(), fault);
  }

  std::string older, newer;
};

TEST_F(snapshot_faults, a_torn_file) {
  const auto bytes_written = fs::file_size(file(1));
  for (const auto left : {bytes_written - 1, bytes_written / 2, std::uintmax_t{10}, std::uintmax_t{0}}) {
    fs::resize_file(file(1), left);
    const auto e = opening(newer);
    expect_older_remains(e, snapshot_fault::torn, file(1));
    EXPECT_THAT(e.what(), HasSubstr("where " + std::to_string(bytes_written) + " were written"));
  }
}

TEST_F(snapshot_faults, a_file_that_grew) {
  fs::resize_file(file(1), fs::file_size(file(1)) + 1);
  expect_older_remains(opening(newer), snapshot_fault::torn, file(1));
}

TEST_F(snapshot_faults, a_torn_manifest) {
  for (const int left : {50, 31, 0}) {
    fs::resize_file(manifest_path(newer), static_cast<std::uintmax_t>(left));
    expect_older_remains(opening(newer), snapshot_fault::torn, manifest_path(newer));
  }
}

TEST_F(snapshot_faults, a_file_cut_short_while_it_is_read) {
  snapshot_reader r(newer);
  const record_view last = r.records(0).back();
  fs::resize_file(file(0), 33);
  if (last.bytes == 0) GTEST_SKIP() << "the sample has no payload there";
  const auto e = error_of([&] { r.read(last); });
  expect_older_remains(e, snapshot_fault::torn, file(0));
}

// Writes a head of another version or byte order, with the right checksum.
void change_head(const std::string& path, snapshot_part part, std::size_t offset, std::uint32_t value) {
  std::fstream f(path, std::ios::binary | std::ios::in | std::ios::out);
  snapshot_head head;
  f.read(reinterpret_cast<char*>(&head), sizeof head);
  ASSERT_EQ(head.magic, make_head(part, 0, 0).magic);
  std::memcpy(reinterpret_cast<char*>(&head) + offset, &value, sizeof value);
  head.head_crc = crc32(0, std::as_bytes(std::span(&head, 1)).first(28));
  f.seekp(0);
  f.write(reinterpret_cast<const char*>(&head), sizeof head);
}

TEST_F(snapshot_faults, another_version) {
  change_head(file(0), snapshot_part::rank_file, offsetof(snapshot_head, version), 1);
  auto e = opening(newer);
  EXPECT_EQ(e.fault(), snapshot_fault::other_version);
  EXPECT_EQ(e.file(), file(0));
  EXPECT_THAT(e.what(), HasSubstr("has version 1 of the format, this imbrex reads 3: restart with a program built"));
  change_head(manifest_path(newer), snapshot_part::manifest, offsetof(snapshot_head, version), 77);
  e = opening(newer);
  EXPECT_EQ(e.fault(), snapshot_fault::other_version);
  EXPECT_EQ(e.file(), manifest_path(newer));
  EXPECT_THAT(e.what(), HasSubstr("has version 77"));
  EXPECT_THAT(e.what(), HasSubstr(older + " is whole"));
}

TEST_F(snapshot_faults, another_byte_order) {
  change_head(manifest_path(newer), snapshot_part::manifest, offsetof(snapshot_head, byte_order), 0x04030201);
  const auto e = opening(newer);
  EXPECT_EQ(e.fault(), snapshot_fault::other_byte_order);
  EXPECT_THAT(e.what(), HasSubstr("was written by a machine of the other byte order: restart on a machine like"));
}

TEST_F(snapshot_faults, a_missing_file_of_a_rank) {
  fs::remove(file(1));
  const auto e = opening(newer);
  expect_older_remains(e, snapshot_fault::missing_file, file(1));
  EXPECT_THAT(e.what(), HasSubstr("is not there"));
}

TEST_F(snapshot_faults, a_missing_manifest) {
  fs::remove(manifest_path(newer));
  expect_older_remains(opening(newer), snapshot_fault::missing_file, manifest_path(newer));
}

TEST_F(snapshot_faults, another_program) {
  const auto e = opening(newer, {check_depth::indexes, 0xabcd});
  EXPECT_EQ(e.fault(), snapshot_fault::other_program);
  EXPECT_THAT(e.what(), StartsWith(newer + " was written by another program (its digest is 0000000000001234, this "
                                           "one's 000000000000abcd): restart with the program that wrote it"));
  EXPECT_THAT(e.what(), Not(HasSubstr("is whole")));  // the older one is the other program's, too
  const auto latest = find_latest(base, {check_depth::indexes, 0xabcd});
  EXPECT_EQ(latest.path, "");
  EXPECT_EQ(latest.skipped.size(), 2u);
}

TEST_F(snapshot_faults, a_bit_of_a_payload) {
  snapshot_reader r(newer);
  const auto records = r.records(0);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].bytes == 0) continue;
    const std::uint64_t at = records[i].offset + records[i].bytes / 2;
    flip_bit(file(0), at, 3);
    EXPECT_FALSE(snapshot_reader::complaint_about(newer));  // nothing but the payload has it
    auto e = error_of([&] { r.read(records[i]); });
    expect_older_remains(e, snapshot_fault::damaged_payload, file(0));
    EXPECT_THAT(e.what(), HasSubstr("is damaged in the record of kind " + std::to_string(records[i].kind)));
    bytes buffer(512);
    e = error_of([&] { r.read_in_pieces(records[i], buffer, [](std::span<const std::byte>) {}); });
    EXPECT_EQ(e.fault(), snapshot_fault::damaged_payload);
    e = error_of([&] { r.check_payloads(); });
    expect_older_remains(e, snapshot_fault::damaged_payload, file(0));
    e = opening(newer, {check_depth::payloads, {}});
    expect_older_remains(e, snapshot_fault::damaged_payload, file(0));
    flip_bit(file(0), at, 3);
  }
  expect_sample(r);
}

TEST_F(snapshot_faults, any_bit_of_head_index_and_footer) {
  snapshot_reader r(newer);
  const auto& last = r.records(0).back();
  const std::uint64_t size = fs::file_size(file(0));
  for (std::uint64_t at = 0; at < size; ++at) {
    if (at == sizeof(snapshot_head)) at = last.offset + last.bytes;
    flip_bit(file(0), at, static_cast<int>(at % 8));
    const auto e = snapshot_reader::complaint_about(newer);
    ASSERT_TRUE(e) << "byte " << at;
    EXPECT_EQ(e->fault(), snapshot_fault::damaged_index) << "byte " << at << ": " << e->what();
    if (at % 64 == 0) expect_older_remains(opening(newer), snapshot_fault::damaged_index, file(0));
    flip_bit(file(0), at, static_cast<int>(at % 8));
  }
  EXPECT_FALSE(snapshot_reader::complaint_about(newer));
}

TEST_F(snapshot_faults, any_bit_of_the_manifest) {
  const std::uint64_t size = fs::file_size(manifest_path(newer));
  for (std::uint64_t at = 0; at < size; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      flip_bit(manifest_path(newer), at, bit);
      const auto e = snapshot_reader::complaint_about(newer);
      ASSERT_TRUE(e) << "byte " << at;
      EXPECT_EQ(e->fault(), snapshot_fault::damaged_manifest) << "byte " << at << ": " << e->what();
      flip_bit(manifest_path(newer), at, bit);
    }
  }
  flip_bit(manifest_path(newer), size - 1);
  expect_older_remains(opening(newer), snapshot_fault::damaged_manifest, manifest_path(newer));
}

TEST_F(snapshot_faults, a_file_of_another_checkpoint_or_rank) {
  fs::copy_file(file(1), file(0), fs::copy_options::overwrite_existing);
  EXPECT_EQ(opening(newer).fault(), snapshot_fault::torn);  // its size is another one

  // Of the same size, there is more to say.
  const auto write = [&](char content) {
    partial_checkpoint p(base);
    snapshot_writer w(p.folder(), 0);
    const bytes payload(1000, static_cast<std::byte>(content));
    w.add(0, as_key("a"), payload);
    return p.commit({}, {w.finish()}, 4);
  };
  const std::string a = write('a'), b = write('b');
  fs::copy_file(rank_file_path(a, 0), rank_file_path(b, 0), fs::copy_options::overwrite_existing);
  const auto e = opening(b);
  EXPECT_EQ(e.fault(), snapshot_fault::damaged_index);
  EXPECT_THAT(e.what(), HasSubstr("is not the file that the manifest speaks of"));
}

TEST_F(snapshot_faults, an_empty_folder) {
  fs::remove_all(newer);
  fs::create_directory(newer);
  const auto e = opening(newer);
  expect_older_remains(e, snapshot_fault::empty, newer);
  EXPECT_THAT(e.what(), HasSubstr("is empty"));
  std::ofstream(newer + "/notes") << "of mine";
  EXPECT_THAT(opening(newer).what(), HasSubstr("holds nothing of a checkpoint"));
}

TEST_F(snapshot_faults, what_is_no_folder) {
  auto e = opening(file(0));
  EXPECT_EQ(e.fault(), snapshot_fault::not_a_folder);
  EXPECT_THAT(e.what(), StartsWith(file(0) + " is not a folder: name the folder of a checkpoint"));
  e = opening(base + "/000099");
  EXPECT_EQ(e.fault(), snapshot_fault::no_folder);
  EXPECT_THAT(e.what(), EndsWith(newer + " is whole: restart from " + newer));
  EXPECT_EQ(error_of([&] { find_latest(folder + "/none"); }).fault(), snapshot_fault::no_folder);
  EXPECT_EQ(error_of([&] { find_latest(file(0)); }).fault(), snapshot_fault::not_a_folder);
  EXPECT_EQ(error_of([&] { partial_checkpoint p(file(0)); }).fault(), snapshot_fault::not_a_folder);
  EXPECT_EQ(error_of([&] { partial_checkpoint p(file(0) + "/below"); }).fault(), snapshot_fault::not_a_folder);
}

TEST_F(snapshot_faults, the_folder_above) {
  const auto e = opening(base);
  EXPECT_EQ(e.fault(), snapshot_fault::missing_file);
  EXPECT_STREQ(
      e.what(),
      (base + " is a folder of checkpoints and none itself: " + newer + " is whole: restart from " + newer).c_str());
}

TEST_F(snapshot_faults, none_that_is_whole) {
  flip_bit(manifest_path(older), 40);
  flip_bit(manifest_path(newer), 40);
  EXPECT_THAT(opening(newer).what(),
              EndsWith("no other checkpoint in " + base + " is whole: start from the beginning"));
  const auto latest = find_latest(base);
  EXPECT_EQ(latest.path, "");
  EXPECT_EQ(latest.skipped.size(), 2u);
  EXPECT_THAT(opening(base).what(), EndsWith("none of them is whole: start from the beginning"));
}

/// As a user who may not do everything, even if root runs the test.
struct plain_user {
  plain_user() : was_(geteuid()) {
    if (was_ == 0 && seteuid(65534) != 0) ADD_FAILURE() << "cannot become another user";
  }
  ~plain_user() {
    if (seteuid(was_) != 0) ADD_FAILURE() << "cannot become root again";
  }
  uid_t was_;
};

TEST_F(snapshot_faults, no_permission) {
  fs::permissions(folder, fs::perms::all);  // what mkdtemp made is its owner's
  fs::permissions(file(1), fs::perms::none);
  {
    const plain_user user;
    const auto e = opening(newer);
    EXPECT_EQ(e.fault(), snapshot_fault::no_permission);
    EXPECT_THAT(e.what(), StartsWith(file(1) + " could not be opened (permission denied): give this user the right"));
    EXPECT_THAT(e.what(), EndsWith(older + " is whole: restart from " + older));
  }
  fs::permissions(file(1), fs::perms::all);
  fs::permissions(base, fs::perms::owner_read | fs::perms::owner_exec);
  if (geteuid() == 0) {
    const plain_user user;
    EXPECT_EQ(opening(newer).fault(), snapshot_fault::no_permission);
    EXPECT_EQ(error_of([&] { find_latest(base); }).fault(), snapshot_fault::no_permission);
  }
  const auto all_read = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  const auto all_enter = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  fs::permissions(base, all_read | all_enter);
  {
    const plain_user user;
    const auto e = error_of([&] { partial_checkpoint p(base); });
    EXPECT_EQ(e.fault(), snapshot_fault::no_permission);
    EXPECT_THAT(e.what(), HasSubstr(".000003.partial could not be created (permission denied)"));
    snapshot_reader r(newer);
    expect_sample(r);
  }
  fs::permissions(base, fs::perms::all);
}

}  // namespace

}  // namespace snapshot_faults_test
