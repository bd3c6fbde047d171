#pragma once

#include <cstddef>
#include <cstdint>

/// Every bound of the product by name. What is full answers at once; relations between bounds are checked below.
namespace weir {

// Text from outside.
inline constexpr std::size_t kIdBytesMax = 64;  // Sale, item and tenant ids.
inline constexpr std::size_t kTitleBytesMax = 200;
inline constexpr std::size_t kBuyerBytesMax = 128;  // A token's `sub`.
inline constexpr std::size_t kIdempotencyKeyBytesMax = 255;
inline constexpr std::size_t kTokenBytesMax = 8 * 1024;
inline constexpr std::size_t kJsonDepthMax = 32;
inline constexpr std::size_t kJsonMembersMax = 128;  // Names in the objects of a token that are open at one time.

// Sign-in and rate limits.
inline constexpr std::int64_t kTokenLeewayUs = 60'000'000;  // Between our clock and an issuer's, for `nbf` and `iat`.
inline constexpr std::int64_t kTokenTimeMaxS = 253'402'300'799;       // The end of the year 9999.
inline constexpr std::size_t kVerifiedTokensBytes = 6 * 1024 * 1024;  // Remembered by each reactor: some 26,000.
inline constexpr std::size_t kJwksBytesMax = 256 * 1024;
inline constexpr std::size_t kKeysMax = 64;
inline constexpr std::size_t kKeyIdBytesMax = 256;
inline constexpr int kRsaBitsMin = 2048;
inline constexpr int kRsaBitsMax = 8192;
inline constexpr std::size_t kRateBucketsMax = 1 << 20;  // Of one limiter; 8 bytes each.
inline constexpr std::int64_t kRatePerSecondMax = 100'000;
inline constexpr std::size_t kTrustedProxiesMax = 64;
inline constexpr int kForwardedHopsMax = 32;  // Listed proxies that one request may have passed.

// HTTP.
inline constexpr std::size_t kHeaderBytesMax = 16 * 1024;  // Request line and headers together.
inline constexpr std::size_t kBodyBytesMax = 16 * 1024;
inline constexpr std::size_t kHeaderCountMax = 100;
inline constexpr std::size_t kTargetBytesMax = 4 * 1024;
inline constexpr std::size_t kPipelineDepthMax = 256;            // Requests answered by one write.
inline constexpr std::size_t kOutputBytesMax = 4 * 1024 * 1024;  // Unsent bytes of one connection.
inline constexpr std::int64_t kRequestDeadlineUs = 10'000'000;   // First byte to last byte of a request.
inline constexpr std::int64_t kIdleDeadlineUs = 75'000'000;      // Between requests.
inline constexpr std::int64_t kWriteDeadlineUs = 10'000'000;     // A peer that does not read.
inline constexpr std::int64_t kAnswerDeadlineUs = 5'000'000;     // A request that waits for desk, ledger or pool.

// The front door below its handlers.
inline constexpr std::size_t kMethodBytesMax = 32;
inline constexpr std::size_t kRequestIdBytesMax = 64;  // A request id that a client brings.
inline constexpr std::size_t kChunkExtensionBytesMax = 256;
inline constexpr std::size_t kChunkFrameBytesMax = 16 * 1024;  // Everything of a chunked body that is not body.
inline constexpr std::size_t kTrailerBytesMax = 4 * 1024;
inline constexpr std::size_t kReadBytesMax = 64 * 1024;          // One read; also what one connection holds unparsed.
inline constexpr std::size_t kFlushBytes = 256 * 1024;           // Gathered answers are sent from here on.
inline constexpr std::size_t kHeldBytesMax = 256 * 1024 * 1024;  // Of one reactor: partial requests, unsent answers.
inline constexpr std::size_t kWriteProgressBytesMin = 4 * 1024;  // A peer that takes less has not moved.
inline constexpr std::size_t kLingerBytesMax = 256 * 1024;       // Read and dropped after the last answer.
inline constexpr std::int64_t kLingerDeadlineUs = 2'000'000;
inline constexpr std::int64_t kLoopWaitUs = 1'000'000;     // The loop looks up at least this often.
inline constexpr std::size_t kConnectionsMax = 4'000'000;  // The most that may be asked for.
inline constexpr std::size_t kAcceptsPerTurnMax = 64;
inline constexpr std::size_t kEventsPerTurnMax = 512;
inline constexpr std::size_t kExpiriesPerTurnMax = 1024;
inline constexpr std::size_t kListenBacklog = 4096;
inline constexpr std::size_t kReactorsMax = 256;
inline constexpr std::size_t kMailboxMax = 16'384;  // Answers from other threads, each reactor.

// A claim.
inline constexpr std::int32_t kUnitsPerClaimMax = 1000;
inline constexpr std::int32_t kBuyerLimitMax = 1000;
inline constexpr std::int64_t kUnitsPerItemMax = 10'000'000;
inline constexpr std::int64_t kNumbersPerItemMax = kUnitsPerItemMax;
inline constexpr std::uint32_t kNumberMax = 2'147'483'647;
inline constexpr std::int64_t kDrawWinnersMax = 100'000;
inline constexpr std::size_t kDrawMixBytesMax = 1024;
inline constexpr std::size_t kLabelBytesMax = 2048;       // How an item's numbers are shown.
inline constexpr std::uint32_t kNumberPageBits = 65'536;  // Numbers of one page of availability.
inline constexpr std::size_t kItemsMax = 65'536;          // Of one process, all sales together.
inline constexpr std::size_t kItemsPerSaleMax = 10'000;
inline constexpr std::int64_t kPriceMinorMax = 1'000'000'000'000;

// Rings and batches.
inline constexpr std::size_t kClaimRingSize = 16'384;   // Reactor to desk, each.
inline constexpr std::size_t kAnswerRingSize = 32'768;  // Desk to reactor, each.
inline constexpr std::size_t kQueueRingSize = 16'384;   // Desk to ledger writer.
inline constexpr std::size_t kReturnRingSize = 65'536;  // Ledger writer to desk.
inline constexpr std::size_t kGateBatchMax = 256;
inline constexpr std::size_t kLedgerBatchMax = 1024;
inline constexpr std::int64_t kNumbersPerBatchMax = 32'768;  // Of the claims of one transaction; one claim always fits.
inline constexpr std::size_t kExpireBatchMax = 1024;
inline constexpr std::size_t kExpireStepMax = 512;  // Orders ended by one step, so that sales are not held up.
inline constexpr std::size_t kSettleBatchMax = 256;
inline constexpr std::size_t kSettleQueueMax = 16'384;        // Commands waiting for the ledger writer.
inline constexpr std::int64_t kLedgerWaitUs = 2'000'000;      // How long one step may wait for storage.
inline constexpr std::int64_t kRecordPatienceUs = 1'000'000;  // How long a full or busy ledger is retried before 503.
inline constexpr std::int64_t kExpireLookUs = 250'000;        // The longest pause between two looks for overdue orders.
inline constexpr std::size_t kInFlightMax = 16'384;           // Claims admitted and not yet durable.
inline constexpr std::size_t kLookupQueueMax = 8'192;         // Jobs waiting for the pool.
inline constexpr std::int64_t kClaimDeadlineUs =
    4'000'000;  // A claim that is not durable by then answers 503 with its id.

// The crowd of a rehearsal.
inline constexpr std::size_t kCrowdBuyersMax = 10'000'000;
inline constexpr std::size_t kCrowdConnectionsMax = 4'096;
inline constexpr std::size_t kCrowdInFlightMax = 65'536;            // Requests sent and not yet answered.
inline constexpr std::int64_t kCrowdSliceUs = 1'000;                // Arrivals are planned in steps of this.
inline constexpr std::int64_t kCrowdSpanUsMax = 3'000'000'000;      // First planned arrival to last.
inline constexpr std::int64_t kCrowdAnswerDeadlineUs = 10'000'000;  // After it a buyer gives up.
inline constexpr std::int64_t kCrowdGraceUsMax = 600'000'000;       // After the last planned arrival.
inline constexpr std::uint8_t kCrowdRetriesMax = 10;                // Of one click.
inline constexpr std::size_t kCrowdAnswerBytesMax = 64 * 1024;      // One answer, headers and body.
inline constexpr std::size_t kCrowdSamplesMax = 30'000;             // Glances at the stock.
inline constexpr std::size_t kCrowdTimelineBinsMax = 12'000;
inline constexpr std::size_t kCrowdHistoryMax = 40'000'000;  // Records of one history file.

// The sandbox's pretend card network.
inline constexpr std::size_t kSandboxWaitingMax = 10'000;  // Webhooks on their way, each repeat counted.
inline constexpr std::size_t kSandboxBatchMax = 256;       // Webhooks handed out at once.
inline constexpr int kSandboxTimesMax = 20;                // Repeats of one event.
inline constexpr std::int64_t kSandboxDelayMaxUs = 15 * 60 * 1'000'000LL;
inline constexpr int kSandboxTriesMax = 100;                // Of one webhook; the next start begins again.
inline constexpr std::int64_t kSandboxBackOffUs = 500'000;  // After the first failure; doubles up to the next line.
inline constexpr std::int64_t kSandboxBackOffMaxUs = 30'000'000;
inline constexpr std::int64_t kWebhookToleranceUs = 300'000'000;  // Age of a signature, both ways.
inline constexpr int kWebhookPostsMax = 32;                       // Posts under way at once.

// Metrics.
inline constexpr std::size_t kMetricSeriesMax = 1999;  // Of one answer of /metrics; more are dropped and counted.
inline constexpr std::size_t kMetricItemsMax = 400;    // Items with counts of their own; more are dropped and counted.
inline constexpr std::size_t kMetricBucketsMax = 16;

static_assert(3 * kMetricItemsMax + 300 < kMetricSeriesMax,
              "free, held and sold of every item leave room for the rest");

static_assert(kCrowdBuyersMax < 1 << 24, "every buyer has an address of his own in 10.0.0.0/8");
static_assert(kCrowdSpanUsMax + kCrowdGraceUsMax < 4'294'967'295, "moments of a run fit 32 bits");

// Settings and secrets.
inline constexpr std::size_t kSettingBytesMax = 4096;  // The text of one setting.
inline constexpr std::size_t kSettingListMax = 64;     // Elements of one list.
inline constexpr std::size_t kSettingsFileBytesMax = 256 * 1024;
inline constexpr std::size_t kHostBytesMax = 253;  // A host name (RFC 1035).
inline constexpr std::size_t kSecretBytesMin = 32;
inline constexpr std::size_t kSecretBytesMax = 4096;

// Gate.
inline constexpr std::size_t kSalesMax = 65'536;            // Of one process; sale numbers are dense from 1.
inline constexpr std::size_t kEndedIdsMax = 4'000'000;      // Ended orders remembered; past them the ledger answers.
inline constexpr std::size_t kStockChangesMax = 1'000'000;  // Changes of totals remembered since the start.
inline constexpr std::size_t kGateTableBytesMax = std::size_t{64}
                                                  << 30;  // One array of a table of holds; beyond: unfit.
inline constexpr int kKnownBuyerTriesMax = 8;             // Reads that a release may disturb before the desk is asked.
inline constexpr int kShelfReadTriesMax = 1000;           // The same for a shelf; each needs two changes in between.

// Shared gate.
inline constexpr std::int64_t kGateEpochMax = 8'000'000;  // Of one sale: the epoch is the head of a version.
inline constexpr std::int64_t kGateVersionMax = std::int64_t{1} << 40;  // Of one item's counts, in one epoch.
inline constexpr std::int64_t kGateOlderEpochsMax = 64;                 // Dropped by one call.
inline constexpr std::int64_t kGatePinAgeUs = 100'000;                  // The pin is asked for again after that.
inline constexpr std::int64_t kRedisConnectUs = 1'000'000;  // From the first packet to the first useful answer.
inline constexpr std::int64_t kRedisBackOffUs = 50'000;     // After a node was not reached; doubles up to the next.
inline constexpr std::int64_t kRedisBackOffMaxUs = 2'000'000;
inline constexpr std::int64_t kRedisMapAgeMinUs = 100'000;            // Between two readings of a cluster's map.
inline constexpr std::size_t kRedisNodesMax = 1000;                   // Of a cluster.
inline constexpr int kRedisRedirectsMax = 5;                          // Of one request.
inline constexpr std::size_t kRedisPipelineMax = 16;                  // Scripts of a build sent together.
inline constexpr int kRedisMapTriesMax = 8;                           // Nodes asked for the map, one after the other.
inline constexpr std::size_t kRedisReplyBytesMax = 64 * 1024 * 1024;  // One answer.
inline constexpr std::size_t kRedisReadBytes = 64 * 1024;
inline constexpr std::size_t kRedisScanCount = 500;         // Holds listed by one round trip.
inline constexpr std::size_t kRedisListedMax = 40'000'000;  // Holds listed by one call.

// Ledger.
inline constexpr std::int64_t kLedgerReserveBytes = 16 * 1024 * 1024;  // Kept free for payments.
inline constexpr std::int64_t kLedgerLogBytesMax = 512 * 1024 * 1024;  // The log: no claims beyond it.
inline constexpr std::int64_t kLedgerLogCopyPart = 8;   // From 1/8 of that on, a commit copies the log itself.
inline constexpr std::int64_t kLedgerLogTidyPart = 32;  // From 1/32 of that on, it is copied when there is time.
inline constexpr std::int64_t kPromiseSlackUs =
    120'000'000;                                           // How far a promised payBy may lie beyond the ledger's own.
inline constexpr std::size_t kOrdersPerBuyerMax = 10'000;  // What a list of a buyer's orders looks at, each sale.
inline constexpr std::size_t kDomainsMax = 64;             // Of one tenant.
inline constexpr std::size_t kChangeKeyBytesMax = 255;     // The key of a stock change.
inline constexpr std::int64_t kPayWithinUsMin = 1'000;
inline constexpr std::int64_t kPayWithinUsMax = 366LL * 86'400 * 1'000'000;

// The ledger on PostgreSQL.
inline constexpr std::int64_t kPostgresCallUsMin = 50'000;          // However near the deadline.
inline constexpr std::int64_t kPostgresCallUsMax = 5'000'000;       // One call, with reconnecting and repeats.
inline constexpr std::int64_t kPostgresStatementUsMax = 2'000'000;  // One statement with its locks, by the server.
inline constexpr std::int64_t kPostgresIdleUsMax = 5'000'000;       // A session that sleeps in a transaction loses it.
inline constexpr std::int64_t kPostgresEndWaitUs = 1'000'000;       // How long a lost session may take to end.
inline constexpr std::int64_t kPostgresLongUsMax = 60'000'000;      // Snapshots, audits: reads of everything.
inline constexpr std::int64_t kPostgresMigrateUsMax = 60'000'000;
inline constexpr std::int64_t kPostgresMoveUsMax = 600'000'000;  // A whole ledger into an empty database.
inline constexpr int kPostgresTriesMax = 8;                      // Of one transaction that others are in the way of.
inline constexpr std::size_t kPostgresLockBuckets = 256;         // Payments and request keys are locked by these.
inline constexpr int kPostgresFetchRows = 10'000;                // Of a long read, at once.
inline constexpr std::size_t kOutboxBatchMax = 1024;             // Releases, retakes, parked messages at once.

// The shared log.
inline constexpr std::size_t kClaimMessageBytesMax = 16 * 1024;
inline constexpr std::size_t kPublishInFlightMax = 1024;       // Of one process: published and not yet acknowledged.
inline constexpr std::int64_t kPublishDeadlineUs = 3'000'000;  // After it a publish is given up as unknown.
inline constexpr std::int64_t kProducerRestUs = 1'000'000;     // A producer that broke for good waits this long.
inline constexpr std::int64_t kKafkaEndUsMax = 5'000'000;      // To leave the group, and again to end the client.
inline constexpr std::int64_t kLogPollUsMax = 60'000'000;  // A consumer that is silent for longer is taken for dead.
inline constexpr std::size_t kLogBatchBytesMax = 1024 * 1024;      // Of one batch; one larger record comes alone.
inline constexpr std::size_t kLogFetchBytesMax = 4 * 1024 * 1024;  // Fetched ahead, all partitions together.
inline constexpr std::size_t kLogPartitionsMax = 4096;             // Of one topic.
inline constexpr std::size_t kDeadLettersMax = 256;                // Published at once.
inline constexpr int kTopicReplicasMin = 3;  // Below these a claim that was answered 202 may be lost.
inline constexpr int kTopicInSyncMin = 2;
inline constexpr std::int64_t kTopicRetentionUsMin = 86'400'000'000;  // The longest that recording may stand still.
inline constexpr std::int64_t kTopicMessageBytesMin = 2 * 16 * 1024;  // The largest claim, its key and headers.

// A sale of several processes.
inline constexpr std::int64_t kLeaseUs = 3'000'000;          // A gate's state may be believed this long.
inline constexpr std::int64_t kLeaseLookUs = 250'000;        // How often it is read.
inline constexpr std::int64_t kShelfAgeUsMax = 200'000;      // A snapshot that is older refuses nobody.
inline constexpr std::int64_t kShelfLookUs = 60'000;         // How often shelves are asked for.
inline constexpr std::int64_t kSharedWaitUs = 1'000'000;     // One question to a gate, a ledger or a log.
inline constexpr std::int64_t kLogTakeWaitUs = 50'000;       // How long a recorder waits for new records.
inline constexpr std::int64_t kRedriveAgeUs = 6'000'000;     // Then a hold in flight is driven again.
inline constexpr std::int64_t kBuilderSilentUs = 5'000'000;  // Then another one takes the build over.
inline constexpr std::int64_t kBuilderBeatUs = 1'000'000;    // How often a builder says that he lives.
inline constexpr std::int64_t kGateNotOpenUs = 2'000'000;    // The ledger says OPEN, the gate does not: then a build.
inline constexpr std::int64_t kGateLookUs = 500'000;         // How often a worker looks at each gate.
inline constexpr std::int64_t kTotalsApartUs = 2'000'000;    // Gate and ledger differ in a total: then a build.
inline constexpr std::int64_t kUpkeepRestUs = 100'000;       // After trouble, before the next try.
inline constexpr std::size_t kDrivenMax = 65'536;            // Holds that were driven again and are not settled yet.
inline constexpr std::size_t kBuildBatchMax = 4096;          // Holds or ids of one step of a build.

// A front door on a shared gate.
inline constexpr std::int64_t kCatalogLookUs = 500'000;      // How often the catalog is read again.
inline constexpr std::int64_t kSoldLookUs = 1'000'000;       // How often the ledger is asked what was paid for.
inline constexpr std::int64_t kShelfIdleLookUs = 1'000'000;  // Counts of sales that do not sell now.
inline constexpr std::int64_t kOwnerLookUs = 1'000'000;      // Who holds units of a sold-out sale: at most this often.
inline constexpr std::int64_t kOwnerListUs = 5'000'000;      // One list of them may take so long.
inline constexpr std::int64_t kOwnerPatienceUs = 5'000'000;  // Then the crowd is refused without such a list.
inline constexpr std::int64_t kRowWaitUs = 1'000'000;  // A cancel or a payment waits this long for its order's row,
inline constexpr std::int64_t kRowLookUs = 20'000;     // and looks this often,
inline constexpr std::size_t kRowWaitersMax = 1024;    // so many at a time.
inline constexpr std::int64_t kClockSkewUsMax = 2'000'000;  // From the ledger's clock: then nothing is promised.

static_assert(kGateBatchMax <= kLedgerBatchMax);
static_assert(kGateEpochMax <= INT64_MAX / kGateVersionMax, "an epoch and a count fit one version");
static_assert(kHeaderBytesMax + kBodyBytesMax + kChunkFrameBytesMax + kTrailerBytesMax + 1024 <= kReadBytesMax,
              "a whole request fits what one connection may hold");
static_assert(kInFlightMax <= kQueueRingSize, "what is admitted always fits the queue");
static_assert(kAnswerRingSize >= 2 * kClaimRingSize, "every claim of a reactor finds room for its answer");
static_assert(kMailboxMax >= kLookupQueueMax, "every look-up finds room for its answer");
static_assert(kClaimDeadlineUs < kAnswerDeadlineUs, "the desk gives up before the front door does");
static_assert(kLedgerWaitUs <= kPostgresStatementUsMax && kPostgresStatementUsMax < kPostgresCallUsMax);
static_assert(kExpireStepMax <= kExpireBatchMax && kSettleBatchMax <= kLedgerBatchMax);
static_assert(kPublishDeadlineUs < kClaimDeadlineUs, "what became of a publish is heard before the deadline");
static_assert(kPublishInFlightMax <= kInFlightMax);
static_assert(kLeaseLookUs * 4 <= kLeaseUs, "one failed look does not end a lease");
static_assert(kShelfLookUs * 3 <= kShelfAgeUsMax, "one slow look does not make a shelf stale");
static_assert(kRowWaitUs < kAnswerDeadlineUs, "who waits for a row is answered in time");
static_assert(kRedriveAgeUs >= 2 * kPublishDeadlineUs, "who published first has been heard");
static_assert(kRecordPatienceUs + kLedgerWaitUs < kClaimDeadlineUs,
              "a refusal by storage is heard before the deadline");
static_assert(kUnitsPerItemMax < 2'147'483'648, "counts stay exact in every store's numbers");
static_assert(kItemsPerSaleMax <= 65'535, "an item's place in its sale fits sixteen bits");
static_assert(kUnitsPerClaimMax <= kNumbersPerBatchMax);
static_assert(kBuyerLimitMax <= 32'767 && kUnitsPerClaimMax <= 32'767, "a hold's units fit fifteen bits");
static_assert(kSandboxTimesMax <= static_cast<int>(kSandboxBatchMax), "every event fits a batch of webhooks");

}  // namespace weir
