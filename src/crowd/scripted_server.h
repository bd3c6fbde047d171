#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/socket.h>

namespace weir::crowd {

/// For tests: a small HTTP responder on 127.0.0.1 that says what a script tells it to. A thread a connection, blocking
/// sockets, requests answered in order.
class ScriptedServer {
 public:
  struct Step {
    std::string bytes;      // The whole answer; empty: none, ever.
    int delay_ms = 0;       // Before the answer.
    std::size_t piece = 0;  // 0: in one write; else so many bytes a write.
    bool closes = false;    // After it.
  };
  /// `number` counts requests of the whole server from 0. Called under a lock, one at a time.
  using Script = std::function<Step(std::size_t number, std::string_view request)>;

  explicit ScriptedServer(Script script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::size_t requests() const { return requests_; }

  [[nodiscard]] static std::string answer(std::string_view status, std::string_view body,
                                          std::string_view headers = {});

 private:
  void accept_all();
  void serve(int socket);
  bool play(int socket, const Step& step);

  Script script_;
  std::mutex mutex_;  // Guards the script and the list of sockets.
  std::vector<int> sockets_;
  std::list<std::thread> threads_;  // Of the accepting thread alone, until it has ended.
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<std::size_t> requests_{0};
  std::atomic<bool> is_ending_{false};
  std::thread acceptor_;
};

}  // namespace weir::crowd
