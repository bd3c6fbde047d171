#pragma once

#include "base/result.h"
#include "base/time.h"
#include "domain/recording.h"
#include "queue/claim_message.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weir {

/// The producing end of a log that several processes share: admitted claims go in with the epoch they were admitted
/// at, and out comes how far each got.
///
/// Per append exactly one outcome, in any order; an id may be appended again at any time (the re-driver does), and the
/// log may then hold it twice. `Outcome::fate` is `durable` (on all in-sync replicas), `not_persisted` (certain that
/// the log does not have it and never will) or `unknown` (it may stand there now or later); never `decided`.
/// A producer that the log has fenced or that broke for good replaces itself: what it had under way is `unknown`.
/// Threads: one owner thread. Blocking: never, but for `drain`.
class LogProducer {
 public:
  virtual ~LogProducer() = default;

  /// How many messages are sure to be taken now. Felt before the gate is asked, so that a log that does not answer
  /// costs no unit. 0 while it is known that nothing can be published.
  [[nodiscard]] virtual std::size_t room() = 0;

  /// Requires: `messages.size() <= room()`.
  virtual void append(std::span<const ClaimMessage> messages) = 0;

  /// Takes outcomes that have arrived; returns how many.
  [[nodiscard]] virtual std::size_t outcomes(std::span<Outcome> out) = 0;

  /// Waits until every append has its outcome, or until the deadline; returns how many have none yet. Before an exit:
  /// what is left over then stands in the gate's `inflight` and is driven again by others.
  [[nodiscard]] virtual std::size_t drain(Deadline deadline) = 0;
};

/// One record of a partition: a claim, or bytes that are none.
struct LogEntry {
  struct Raw {
    UnreadableMessage problem;
    std::string key;
    std::string bytes;  // As they lie in the log.
  };
  std::int64_t offset = 0;
  std::variant<ClaimMessage, Raw> content;
};

/// A run of records of one partition, in the order of the log.
struct LogBatch {
  enum class State : std::uint8_t {
    taken,         // `entries` has some; [expected, next) is done with when they are.
    empty,         // Nothing new before the deadline.
    not_owned,     // The partition is not ours now, or nobody has said yet where to begin: see `assignment`.
    out_of_range,  // The log has nothing at `expected`: it lost its end, or records went before they were read.
  };
  State state = State::empty;
  std::string topic_id;  // With `partition`: whose offsets these are.
  std::int32_t partition = 0;
  std::uint64_t generation = 0;   // Of the assignment under which they were taken.
  std::int64_t expected = 0;      // Where this batch begins: what the ledger's offset must be.
  std::int64_t next = 0;          // Where the one after it begins: what the ledger's offset becomes.
  std::vector<LogEntry> entries;  // Offsets grow and lie in [expected, next); gaps are lawful.
};

[[nodiscard]] constexpr std::string_view name(LogBatch::State state) {
  switch (state) {
    case LogBatch::State::taken: return "taken";
    case LogBatch::State::empty: return "empty";
    case LogBatch::State::not_owned: return "not_owned";
    case LogBatch::State::out_of_range: return "out_of_range";
  }
  return "?";
}

/// What a consumer owns at this moment. The group decides; a stale belief does no harm, because the ledger takes a
/// batch only at the offset that it expects.
struct LogAssignment {
  std::uint64_t generation = 0;  // Grows with every change. Work begun under an older one may be finished or dropped.
  std::string topic_id;          // A topic that is made anew has another id, and its offsets mean other records.
  std::vector<std::int32_t> partitions;  // Ascending.
};

/// What one partition holds at this moment, from its leader: records in [first, end).
struct LogRange {
  std::int32_t partition = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;  // The high-water mark: every record acknowledged before the question lies below it.
};

struct LogRanges {
  std::string topic_id;
  std::vector<LogRange> partitions;  // Every partition that the topic has now, ascending.
};

/// The consuming end: records of the partitions that this process owns, from where the ledger says.
///
/// Offsets live in the ledger, in the transaction of their effects. A partition that was assigned gives nothing until
/// `seek`; the log's own memory of offsets is written as a hint for people and tools, and never read.
/// Threads: one owner thread, which calls `assignment` at least every kLogPollUsMax, busy or not: who does not is
/// taken for dead, and his partitions go to others.
/// Blocking: each call up to its deadline. Failures: `unavailable` and `timed_out` (call again), `unfit` (the
/// operator's: no such topic, no permission), `corrupt` (the topic was made anew under this consumer).
class LogConsumer {
 public:
  virtual ~LogConsumer() = default;

  /// Hears what the group has decided. Never waits longer than it takes to hear it.
  [[nodiscard]] virtual Result<LogAssignment> assignment(Deadline deadline) = 0;

  /// The next batch of this partition begins at `offset`. Forgets what was fetched. No effect on a partition that is
  /// not owned.
  virtual Result<void> seek(std::int32_t partition, std::int64_t offset) = 0;

  /// The next records of one partition, at most `entries_max` of them and kLogBatchBytesMax bytes, at least one if
  /// there is one. What was taken is not given again without a `seek`.
  [[nodiscard]] virtual Result<LogBatch> take(std::int32_t partition, std::size_t entries_max, Deadline deadline) = 0;

  /// Asks the leaders of all partitions, also those that others own, and of the topic's newest shape. Never from
  /// memory.
  [[nodiscard]] virtual Result<LogRanges> ranges(Deadline deadline) = 0;

  /// Tells the log how far the ledger has got. May be lost.
  virtual void hint(std::int32_t partition, std::int64_t next_offset) = 0;
};

/// A message that nobody could record, as it lies in the ledger's `parked`.
struct DeadLetter {
  std::string topic_id;
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::string key;
  std::string bytes;
  std::string reason;
};

/// Where parked messages are shown to people. Filled from the ledger, never before it.
///
/// Threads: one owner thread.
class DeadLetters {
 public:
  virtual ~DeadLetters() = default;

  /// Publishes all of them and waits. Success: all are durable. A failure: some may be; publish the same ones again,
  /// readers tell repeats by topic, partition and offset. At most kDeadLettersMax at once.
  [[nodiscard]] virtual Result<void> publish(std::span<const DeadLetter> letters, Deadline deadline) = 0;
};

}  // namespace weir
