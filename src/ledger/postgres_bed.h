#pragma once

#include "base/random.h"
#include "ledger/ledger_bed.h"
#include "ledger/postgres_ledger.h"
#include "ledger/postgres_reader.h"

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <sys/types.h>

namespace weir {

/// A PostgreSQL of the test's own: its data and its socket lie in a temporary folder, and it dies with the test.
///
/// Threads: one.
class PostgresCluster {
 public:
  /// `fast`: nothing is synced. `durable`: as it should be in a shop.
  enum class Storage : std::uint8_t { fast, durable };

  /// Null with the reason, when this machine cannot run one.
  [[nodiscard]] static Result<std::unique_ptr<PostgresCluster>> start(Storage storage);
  ~PostgresCluster();
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  /// As the superuser `weir`; empty socket: the server's own.
  [[nodiscard]] std::string dsn(std::string_view schema, std::string_view socket_folder = {}) const;
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// A new empty schema, which is much cheaper than a database; its name.
  [[nodiscard]] std::string make_schema();
  void drop_schema(const std::string& name);
  /// Runs statements as a stranger would; the first column of the first row of the last one.
  std::string ask(std::string_view schema, const std::string& sql) const;

  void kill();  // As when the power fails.
  void stop();
  void run();
  /// From the next `run` on it is a standby that only reads.
  void become_standby();

 private:
  explicit PostgresCluster(Storage storage) : storage_(storage) {}
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] bool answers() const;

  const Storage storage_;
  std::string folder_;
  pid_t server_ = -1;
  int schemas_ = 0;
};

/// Stands between a ledger and its server, on a socket of its own, and cuts the line when it is told to: after the
/// server's answer or before it.
class LineCutter {
 public:
  enum class Cut : std::uint8_t {
    never,
    request,  // What holds the word is not passed on.
    answer    // It is passed on; what the server answers is not.
  };

  LineCutter(const PostgresCluster& cluster, std::string folder);
  ~LineCutter();
  LineCutter(const LineCutter&) = delete;
  LineCutter& operator=(const LineCutter&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Cuts once, at the next request that holds `word` (the name of a statement, as it goes over the line).
  void cut(Cut cut, std::string word);

 private:
  struct State;
  void serve();

  const std::string folder_;
  std::unique_ptr<State> state_;
  std::thread thread_;
};

/// A ledger in a schema of its own, and a reader beside it.
class PostgresBed final : public LedgerBed {
 public:
  explicit PostgresBed(PostgresCluster& cluster, bool sells_alone = true);
  ~PostgresBed() override;

  Ledger& ledger() override { return *writer; }
  LedgerReader& reader() override { return *look; }
  ManualClock& clock() override { return clock_; }
  void restart() override {
    close();
    open();
  }

  void close() {
    look.reset();
    writer.reset();
  }
  void open();
  /// One more ledger on the same rows, as another process has it.
  [[nodiscard]] std::unique_ptr<PostgresLedger> open_another();
  std::string ask(const std::string& sql) const { return cluster_.ask(schema_, sql); }
  [[nodiscard]] const std::string& schema() const { return schema_; }
  [[nodiscard]] PostgresCluster& cluster() { return cluster_; }

  PostgresOptions options;
  std::unique_ptr<PostgresLedger> writer;
  std::unique_ptr<PostgresReader> look;

 private:
  PostgresCluster& cluster_;
  std::string schema_;
  ManualClock clock_;
  SeededRandom random_{20261129};
};

}  // namespace weir
