#include "crowd/cpu.h"

#include <charconv>
#include <cstdio>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

namespace weir::crowd {
namespace {

constexpr int kFieldsFromStateToUtime = 11;  // `state` is the first field behind the name, `utime` the twelfth.

std::string read_small_file(const std::string& path) {
  std::string text(8192, '\0');
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return {};
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

template <typename T>
bool take_number(std::string_view& text, T& out) {
  const std::size_t at = text.find_first_not_of(" \t");
  if (at == std::string_view::npos) return false;
  text.remove_prefix(at);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

std::optional<double> cpu_from_stat(std::string_view stat, long ticks_per_s) {
  // The name stands in parentheses and may itself contain spaces and parentheses.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || ticks_per_s <= 0) return std::nullopt;
  std::string_view rest = stat.substr(name_end + 1);
  for (int field = 0; field < kFieldsFromStateToUtime; ++field) {
    const std::size_t at = rest.find_first_not_of(' ');
    if (at == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(std::min(rest.find(' ', at), rest.size()));
  }
  std::uint64_t user = 0;
  std::uint64_t kernel = 0;
  if (!take_number(rest, user) || !take_number(rest, kernel)) return std::nullopt;
  return static_cast<double>(user + kernel) / static_cast<double>(ticks_per_s);
}

std::optional<std::uint64_t> rss_from_status(std::string_view status) {
  constexpr std::string_view kName = "VmRSS:";
  const std::size_t at = status.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = status.substr(at + kName.size());
  std::uint64_t kib = 0;
  if (!take_number(rest, kib)) return std::nullopt;
  return kib * 1024;
}

std::optional<Usage> usage_of(pid_t process) {
  const auto cpu = cpu_from_stat(read_small_file(fmt::format("/proc/{}/stat", process)), ::sysconf(_SC_CLK_TCK));
  const auto rss = rss_from_status(read_small_file(fmt::format("/proc/{}/status", process)));
  if (!cpu || !rss) return std::nullopt;
  return Usage{*cpu, *rss};
}

double thread_cpu_s() {
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) return 0;
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace weir::crowd
