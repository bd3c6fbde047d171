#pragma once

#include "base/snapshot.h"
#include "base/time.h"
#include "flow/admit.h"
#include "flow/build_gate.h"
#include "flow/expire.h"
#include "flow/lease.h"
#include "flow/leased_gate.h"
#include "flow/publisher.h"
#include "flow/record_log.h"
#include "flow/settle.h"
#include "flow/upkeep.h"
#include "sim/cluster/model_gate.h"
#include "sim/cluster/model_ledger.h"
#include "sim/cluster/model_log.h"
#include "sim/cluster/mutants.h"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weir::cluster {

/// The stores and the outside world, as the parts of a process need them. All outlive the process.
struct Surroundings {
  GateStore& gates;
  LogStore& log;
  LedgerRows& rows;
  LogWeather& weather;
  const Clock& clock;
  Mutant mutant = Mutant::none;
};

/// The desk of a node: claims in, answers out.
class DeskPort final : public AdmitPort {
 public:
  explicit DeskPort(std::function<void(const ClaimAnswer&)> hear) : hear_(std::move(hear)) {}
  std::size_t take_requests(std::span<GateRequest>) override { return 0; }
  std::size_t take_claims(std::span<ClaimRequest> out) override;
  void answer(const ClaimAnswer& answer) override { hear_(answer); }
  void answer_retake(PaymentId, bool) override {}

  std::deque<ClaimRequest> claims;

 private:
  std::function<void(const ClaimAnswer&)> hear_;
};

/// Nobody listens: what ended leaves through the ledger's outbox.
class DeafPort final : public SettlePort {
 public:
  std::size_t take_commands(std::span<SettleRequest>) override { return 0; }
  void to_gate(const GateRequest&) override {}
};

/// The shipped parts of an API node, over the models.
struct NodeParts {
  NodeParts(const Surroundings& around, Wire& wire, std::function<void(const ClaimAnswer&)> hear);

  Snapshot<Catalog> catalog;
  std::unique_ptr<ModelLedger> ledger;
  ModelGate gate;
  Lease lease;
  LeasedGate leased;
  std::unique_ptr<ModelProducer> producer;
  Publisher publisher;
  std::atomic<bool> is_ready{true};
  DeskPort port;
  Admit admit;
};

/// The shipped parts of one thread of a worker, over the models. Which of the verbs it runs is its owner's choice.
struct WorkerParts {
  WorkerParts(const Surroundings& around, Wire& wire, std::size_t member, std::string builder);

  Snapshot<Catalog> catalog;
  ModelGate gate;
  std::unique_ptr<ModelLedger> ledger;
  ModelReader reader;
  ModelConsumer consumer;
  ModelProducer producer;
  Lease lease;
  RecordLog record;
  GiveBack give_back;
  Redrive redrive;
  DecideLateMoney late_money;
  BuildGate build;
  DeafPort port;
  Expire expire;
};

}  // namespace weir::cluster
