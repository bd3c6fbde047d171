#include "crowd/history.h"

#include "config/limits.h"

#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

namespace weir::crowd {
namespace {

static_assert(std::endian::native == std::endian::little, "history files are little-endian");

struct FileHead {
  std::array<char, 8> magic{'w', 'e', 'i', 'r', 'h', 'i', 's', 't'};
  std::uint32_t version = 1;
  std::uint32_t record_bytes = sizeof(Record);
  std::uint64_t count = 0;
  std::uint32_t units_per_claim = 1;
  std::uint32_t is_keyed = 0;
};
static_assert(sizeof(FileHead) == 32 && std::is_trivially_copyable_v<FileHead>);

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::unexpected<Error> refuse(Failure failure, const std::string& path, std::string_view what) {
  return fail(failure, fmt::format("history file {} {}", path, what));
}

}  // namespace

Result<void> write_history(const std::string& path, const History& history) {
  File file(std::fopen(path.c_str(), "wbe"));
  if (!file) return refuse(Failure::unfit, path, fmt::format("cannot be written: {}", std::strerror(errno)));
  FileHead head;
  head.count = history.records.size();
  head.units_per_claim = history.units_per_claim;
  head.is_keyed = history.is_keyed ? 1 : 0;
  const std::size_t count = history.records.size();
  bool is_written = std::fwrite(&head, sizeof head, 1, file.get()) == 1;
  is_written = is_written && std::fwrite(history.records.data(), sizeof(Record), count, file.get()) == count;
  is_written = is_written && std::fflush(file.get()) == 0;
  if (!is_written) return refuse(Failure::unfit, path, fmt::format("cannot be written: {}", std::strerror(errno)));
  return {};
}

Result<History> read_history(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rbe"));
  if (!file) return refuse(Failure::unfit, path, fmt::format("cannot be read: {}", std::strerror(errno)));
  FileHead head;
  if (std::fread(&head, sizeof head, 1, file.get()) != 1) return refuse(Failure::corrupt, path, "has no head");
  const FileHead sound;
  if (head.magic != sound.magic || head.version != sound.version || head.record_bytes != sound.record_bytes) {
    return refuse(Failure::corrupt, path, "is not a history of this version");
  }
  if (head.count > kCrowdHistoryMax) return refuse(Failure::corrupt, path, "names more records than a run can have");
  History history;
  history.units_per_claim = head.units_per_claim;
  history.is_keyed = head.is_keyed != 0;
  // A head that lies about the count must not cost its memory, so the vector grows with what is really there.
  std::array<Record, 1024> chunk;
  while (history.records.size() < head.count) {
    const std::size_t wanted = std::min(chunk.size(), head.count - history.records.size());
    if (std::fread(chunk.data(), sizeof(Record), wanted, file.get()) != wanted) {
      return refuse(Failure::corrupt, path, fmt::format("is cut short behind record {}", history.records.size()));
    }
    for (std::size_t i = 0; i < wanted; ++i) {
      if (index_of(chunk[i].outcome) >= kOutcomeCount) return refuse(Failure::corrupt, path, "has an unknown outcome");
    }
    history.records.insert(history.records.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(wanted));
  }
  return history;
}

}  // namespace weir::crowd
