#pragma once

#include "base/result.h"
#include "http/exchange.h"

#include <cstdint>
#include <expected>
#include <string>

namespace weir::http {

/// A file descriptor with one owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int release();
  void close();

 private:
  int fd_ = -1;
};

/// One listening socket. Several may share a port; the kernel spreads the connections over them.
///
/// Threads: one owner thread. Blocking: `open` may ask the resolver; the rest never.
class Listener {
 public:
  /// `exclusive`: fails if another socket has the address, and lets later ones that are not exclusive join it.
  /// `port` 0: the one in `listen`. Failures: unfit.
  static Result<Listener> open(const std::string& listen, std::uint16_t port, bool exclusive);

  struct Accepted {
    Descriptor socket;
    Address peer;
  };
  enum class Trouble : std::uint8_t {
    nothing_there,
    try_again,     // That one is gone; there may be more.
    out_of_files,  // The process has no descriptor left.
    out_of_resources,
  };
  [[nodiscard]] std::expected<Accepted, Trouble> accept();
  /// With no descriptor left: gives up the reserve for a moment, so that the next one in line hears a refusal at once
  /// and does not hang.
  void turn_one_away();

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  void close() { socket_.close(); }

 private:
  Descriptor socket_;
  Descriptor reserve_;
  std::uint16_t port_ = 0;
};

}  // namespace weir::http
