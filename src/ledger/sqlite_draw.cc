#include "base/encoding.h"
#include "base/sha256.h"
#include "domain/draw.h"
#include "ledger/sqlite_ledger.h"
#include "ledger/sqlite_reader.h"
#include "ledger/sqlite_statements.h"

#include <array>
#include <span>
#include <string>

namespace weir {
namespace {

using sqlite::Statement;

std::string bytes_of(std::span<const std::uint32_t> numbers) {
  std::string out;
  out.reserve(numbers.size() * 4);
  for (const std::uint32_t number : numbers) {
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift & 0xff));
  }
  return out;
}

std::vector<std::uint32_t> numbers_of(std::string_view bytes) {
  std::vector<std::uint32_t> numbers(bytes.size() / 4);
  for (std::size_t i = 0; i < numbers.size() * 4; ++i)
    numbers[i / 4] = numbers[i / 4] << 8 | static_cast<unsigned char>(bytes[i]);
  return numbers;
}

/// What the numbers of paid orders are; a refunded order that keeps its units is none.
constexpr std::string_view kPaidNumbers =
    "FROM flash_sale_number n JOIN flash_sale_order o USING (order_id) WHERE n.item_no = ?1 AND o.status = 1";

bool has_closed(const Statement& row, int closed_at, int closes_at, Instant now) {
  return row.whole(closed_at) != 0 || now >= row.moment(closes_at);
}

}  // namespace

void SqliteLedger::make_seed(ItemNo item) {
  std::array<std::byte, 32> seed{};
  random_.fill(seed);
  connection_->prepare("INSERT INTO flash_sale_draw (item_no, seed) VALUES (?1, ?2)")
      .bind(1, item)
      .bind_blob(2, {reinterpret_cast<const char*>(seed.data()), seed.size()})
      .run();
}

bool SqliteLedger::is_drawn(ItemNo item) {
  Statement find = connection_->prepare("SELECT drawn_at IS NOT NULL FROM flash_sale_draw WHERE item_no = ?1");
  return find.bind(1, item).step() && find.whole(0) != 0;
}

Result<ChangeResult> SqliteLedger::record_draw(ItemNo item, const Draw& draw) {
  return change([&] {
    ChangeResult result{.changed = Changed::unknown, .minimum = 0, .total = 0, .change_id = 0, .item = item};
    Statement find = connection_->prepare(
        "SELECT d.seed, d.drawn_at, s.closed, s.closes_at FROM flash_sale_draw d "
        "JOIN flash_sale_item i USING (item_no) JOIN flash_sale s USING (sale_no) WHERE item_no = ?1");
    if (!find.bind(1, item).step()) return result;
    result.changed = Changed::repeated;
    if (!find.is_null(1)) return result;
    result.changed = Changed::refused;
    const bool is_promised = hex_text(find.blob(0)) == draw.seed;
    if (!is_promised || !has_closed(find, 2, 3, clock_.now())) return result;
    Statement pending =
        connection_->prepare("SELECT 1 FROM flash_sale_order WHERE item_no = ?1 AND status = 0 LIMIT 1");
    if (pending.bind(1, item).step()) return result;
    Statement paid = connection_->prepare(std::string{"SELECT count(*) "}.append(kPaidNumbers));
    if (!paid.bind(1, item).step() || paid.whole(0) != static_cast<std::int64_t>(draw.entrants.size())) return result;
    connection_
        ->prepare("UPDATE flash_sale_draw SET mix = ?2, entrants = ?3, winners = ?4, drawn_at = ?5 WHERE item_no = ?1")
        .bind(1, item)
        .bind(2, draw.mix)
        .bind_blob(3, bytes_of(draw.entrants))
        .bind_blob(4, bytes_of(draw.winners))
        .bind(5, clock_.now())
        .run();
    result.changed = Changed::done;
    return result;
  });
}

Result<std::optional<DrawFacts>> SqliteReader::draw_facts(ItemNo item) {
  return look<std::optional<DrawFacts>>([&]() -> std::optional<DrawFacts> {
    Statement find = connection_->prepare(
        "SELECT i.numbered, d.seed, s.closed, s.closes_at, d.drawn_at IS NOT NULL FROM flash_sale_item i "
        "JOIN flash_sale s USING (sale_no) LEFT JOIN flash_sale_draw d USING (item_no) WHERE i.item_no = ?1");
    if (!find.bind(1, item).step()) return std::nullopt;
    DrawFacts facts;
    facts.item = item;
    facts.numbered = find.whole(0) != 0;
    facts.seed = find.is_null(1) ? "" : hex_text(find.blob(1));
    facts.is_sale_closed = has_closed(find, 2, 3, clock_.now());
    Statement pending =
        connection_->prepare("SELECT count(*), max(pay_by) FROM flash_sale_order WHERE item_no = ?1 AND status = 0");
    if (pending.bind(1, item).step()) {
      facts.pending = pending.whole(0);
      facts.pending_until = pending.maybe_moment(1);
    }
    if (find.whole(4) != 0) return facts;
    Statement paid =
        connection_->prepare(std::string{"SELECT n.number "}.append(kPaidNumbers).append(" ORDER BY n.number"));
    paid.bind(1, item);
    while (paid.step()) facts.entrants.push_back(static_cast<std::uint32_t>(paid.whole(0)));
    return facts;
  });
}

Result<std::optional<Draw>> SqliteReader::draw_of(ItemNo item) {
  return look<std::optional<Draw>>([&]() -> std::optional<Draw> {
    Statement find = connection_->prepare(
        "SELECT seed, mix, entrants, winners, drawn_at FROM flash_sale_draw WHERE item_no = ?1 AND drawn_at NOT NULL");
    if (!find.bind(1, item).step()) return std::nullopt;
    Draw draw;
    draw.commitment = sha256_hex(find.blob(0));
    draw.seed = hex_text(find.blob(0));
    draw.mix = find.text(1);
    draw.entrants = numbers_of(find.blob(2));
    draw.entrants_hash = entrants_hash(draw.entrants);
    draw.winners = numbers_of(find.blob(3));
    draw.drawn_at = find.moment(4);
    return draw;
  });
}

}  // namespace weir
