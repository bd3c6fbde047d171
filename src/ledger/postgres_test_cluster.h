#pragma once

#include "ledger/postgres_bed.h"

#include <cstdio>
#include <memory>

#include <gtest/gtest.h>

namespace weir {

/// The server that the tests of one program share.
inline std::unique_ptr<PostgresCluster>& shared_cluster() {
  static std::unique_ptr<PostgresCluster> cluster;
  return cluster;
}

/// Runs the tests of a program on a server of their own. A machine that cannot run one skips them, and says why.
inline int run_on_postgres(int& argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto started = PostgresCluster::start(PostgresCluster::Storage::fast);
  if (!started) {
    std::printf("SKIPPED: %s\n", started.error().message.c_str());
    return 0;
  }
  shared_cluster() = std::move(*started);
  const int failed = RUN_ALL_TESTS();
  shared_cluster().reset();
  return failed;
}

}  // namespace weir
