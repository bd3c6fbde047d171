#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weir {

/// Stands between a client and a server and loses what it is told to. For tests.
class LossyProxy {
 public:
  explicit LossyProxy(std::uint16_t server_port);
  ~LossyProxy();
  LossyProxy(const LossyProxy&) = delete;
  LossyProxy& operator=(const LossyProxy&) = delete;

  [[nodiscard]] std::string address() const;

  /// The next request that holds this text reaches the server, and its answer is lost with the connection.
  void lose_answer_to(std::string_view text);
  /// The next request that holds this text is lost with the connection.
  void lose_request_with(std::string_view text);
  /// Every answer from now on has `from` changed to `to`, of the same length.
  void rewrite(std::string_view from, std::string_view to);
  /// How many answers or requests were lost.
  [[nodiscard]] int losses() const { return losses_; }

 private:
  struct Pair {
    int client = -1;
    int server = -1;
    bool is_doomed = false;  // The next answer is lost.
  };
  void run();
  void accept_one();
  [[nodiscard]] bool pass_request(Pair& pair);
  [[nodiscard]] bool pass_answer(Pair& pair);

  std::uint16_t server_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::vector<Pair> pairs_;
  std::mutex mutex_;  // Guards the next four.
  std::string lose_answer_to_;
  std::string lose_request_with_;
  std::string rewrite_from_;
  std::string rewrite_to_;
  std::atomic<int> losses_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace weir
