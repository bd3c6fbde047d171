#pragma once

#include "sim/cluster/trouble.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::cluster {

/// Whom a model's client asks.
enum class Peer : std::uint8_t { gate, ledger, log };

/// What becomes of a question.
enum class Passage : std::uint8_t {
  fine,
  refused,       // Not reached, and the asker knows it.
  request_lost,  // It never arrives; the asker hears nothing.
  reply_lost,    // It takes effect; the asker hears nothing.
  late,          // The asker hears nothing and gives up; it takes effect after that.
};

/// The way between a client and its store, as a model sees it: time passes on it, and questions get lost.
///
/// Threads: one. Blocking: `send` and `receive` may let others run before they return, and may not return at all when
/// the asking process dies.
class Wire {
 public:
  virtual ~Wire() = default;
  [[nodiscard]] virtual Passage send(Peer peer, std::string_view verb) = 0;
  virtual void receive(Peer peer) = 0;
  /// Lets the effect of a late question happen some time from now.
  virtual void run_late(std::function<void()> effect) = 0;
  virtual void met(Trouble trouble) = 0;
};

/// A wire on which nothing happens but what a test has scripted. For tests of the verbs.
class ScriptedWire final : public Wire {
 public:
  Passage send(Peer peer, std::string_view verb) override {
    asked.emplace_back(peer, verb);
    if (on_send) on_send(peer, verb);
    for (auto at = script.begin(); at != script.end(); ++at) {
      if (at->first != verb) continue;
      const Passage passage = at->second;
      script.erase(at);
      return passage;
    }
    return Passage::fine;
  }
  void receive(Peer) override {}
  void run_late(std::function<void()> effect) override { late.push_back(std::move(effect)); }
  void met(Trouble) override {}

  std::deque<std::pair<std::string_view, Passage>> script;  // The next question of this verb meets this.
  std::vector<std::pair<Peer, std::string_view>> asked;
  std::function<void(Peer, std::string_view)> on_send;
  std::vector<std::function<void()>> late;
};

}  // namespace weir::cluster
