-- The first schema of the ledger. Times are microseconds UTC, money is minor units, ids are 16-byte blobs, statuses are
-- the numbers of src/domain/order.h. Constraints are the wall behind the rules: in a healthy system none ever fires.

CREATE TABLE flash_sale_meta (
  name TEXT PRIMARY KEY NOT NULL,
  value INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE TABLE flash_sale_tenant (
  tenant_no INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  domains TEXT NOT NULL,
  order_key_0 BLOB NOT NULL CHECK (length(order_key_0) = 16),
  order_key_1 BLOB NOT NULL CHECK (length(order_key_1) = 16)
) STRICT;

CREATE TABLE flash_sale (
  sale_no INTEGER PRIMARY KEY,
  tenant_no INTEGER NOT NULL REFERENCES flash_sale_tenant,
  id TEXT NOT NULL,
  title TEXT NOT NULL,
  opens_at INTEGER NOT NULL,
  closes_at INTEGER NOT NULL CHECK (closes_at > opens_at),
  paused INTEGER NOT NULL DEFAULT 0,
  closed INTEGER NOT NULL DEFAULT 0,
  limit_per_buyer INTEGER NOT NULL CHECK (limit_per_buyer BETWEEN 1 AND 1000),
  pay_within_us INTEGER NOT NULL CHECK (pay_within_us > 0),
  secret TEXT NOT NULL,
  UNIQUE (tenant_no, id)
) STRICT;

-- I1: what is held and sold never passes the total.
CREATE TABLE flash_sale_item (
  item_no INTEGER PRIMARY KEY,
  sale_no INTEGER NOT NULL REFERENCES flash_sale,
  tenant_no INTEGER NOT NULL REFERENCES flash_sale_tenant,
  id TEXT NOT NULL,
  title TEXT NOT NULL,
  price INTEGER NOT NULL CHECK (price >= 0),
  currency TEXT NOT NULL,
  total INTEGER NOT NULL,
  held INTEGER NOT NULL DEFAULT 0,
  sold INTEGER NOT NULL DEFAULT 0,
  CHECK (held >= 0 AND sold >= 0 AND held + sold <= total),
  UNIQUE (tenant_no, id)
) STRICT;

-- I3: live units of a buyer across the items of a sale. The row stays at 0 units and keeps the newest order, from which
-- `previous_order` leads through the buyer's orders, newest first: no index of orders by buyer is needed.
CREATE TABLE flash_sale_buyer (
  tenant_no INTEGER NOT NULL,
  buyer TEXT NOT NULL,
  sale_no INTEGER NOT NULL,
  units INTEGER NOT NULL,
  max_units INTEGER NOT NULL,
  last_order BLOB NOT NULL,
  PRIMARY KEY (tenant_no, buyer, sale_no),
  CHECK (units BETWEEN 0 AND max_units)
) WITHOUT ROWID, STRICT;

CREATE TABLE flash_sale_order (
  order_id BLOB PRIMARY KEY NOT NULL CHECK (length(order_id) = 16),
  tenant_no INTEGER NOT NULL,
  sale_no INTEGER NOT NULL,
  item_no INTEGER NOT NULL,
  buyer TEXT NOT NULL,
  quantity INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 1000),
  amount INTEGER NOT NULL CHECK (amount >= 0),
  currency TEXT NOT NULL,
  status INTEGER NOT NULL CHECK (status BETWEEN 0 AND 5),
  reason TEXT NOT NULL DEFAULT '',
  digest INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  pay_by INTEGER NOT NULL,
  paid_at INTEGER,
  ended_at INTEGER,
  extended INTEGER NOT NULL DEFAULT 0,
  kept_units INTEGER NOT NULL DEFAULT 0, -- Refunded without restocking: they go on counting as sold and as the buyer's.
  previous_order BLOB,
  CHECK (status <> 1 OR paid_at IS NOT NULL)
) WITHOUT ROWID, STRICT;
CREATE INDEX flash_sale_order_due ON flash_sale_order (pay_by) WHERE status = 0;

CREATE TABLE flash_sale_payment (
  payment_id BLOB PRIMARY KEY NOT NULL CHECK (length(payment_id) = 16),
  order_id BLOB NOT NULL,
  tenant_no INTEGER NOT NULL,
  gateway TEXT NOT NULL,
  amount INTEGER NOT NULL,
  currency TEXT NOT NULL,
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 5),
  captured INTEGER CHECK (captured >= 0), -- Minor units that the gateway says it has taken; null until it says so.
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;
CREATE INDEX flash_sale_payment_order ON flash_sale_payment (order_id);
CREATE INDEX flash_sale_payment_late ON flash_sale_payment (created_at) WHERE state = 3;

-- I7: one refund a payment; the id is the idempotency key at the gateway. `of_order` 1: the money of a PAID order goes
-- back because somebody asked for it. 0: money that could not be kept; the order's status does not follow it.
CREATE TABLE flash_sale_refund (
  refund_id BLOB PRIMARY KEY NOT NULL CHECK (length(refund_id) = 16),
  payment_id BLOB NOT NULL UNIQUE,
  order_id BLOB NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 0),
  currency TEXT NOT NULL,
  state INTEGER NOT NULL CHECK (state IN (0, 1)),
  of_order INTEGER NOT NULL,
  restock INTEGER NOT NULL,
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  done_at INTEGER
) WITHOUT ROWID, STRICT;
CREATE INDEX flash_sale_refund_due ON flash_sale_refund (created_at) WHERE state = 0;
CREATE INDEX flash_sale_refund_order ON flash_sale_refund (order_id);
CREATE UNIQUE INDEX flash_sale_refund_once ON flash_sale_refund (order_id) WHERE of_order = 1;

-- One row an event of a gateway, in the transaction of its effect. `applied` 0: its payment is not known here yet.
CREATE TABLE flash_sale_inbox (
  gateway TEXT NOT NULL,
  event_id TEXT NOT NULL,
  payment_id BLOB NOT NULL,
  kind INTEGER NOT NULL,
  refund_id BLOB NOT NULL,
  amount INTEGER NOT NULL,
  currency TEXT NOT NULL,
  body TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  applied INTEGER NOT NULL,
  PRIMARY KEY (gateway, event_id)
) WITHOUT ROWID, STRICT;
CREATE INDEX flash_sale_inbox_open ON flash_sale_inbox (payment_id) WHERE applied = 0;

CREATE TABLE flash_sale_request_key (
  id BLOB PRIMARY KEY NOT NULL CHECK (length(id) = 16),
  digest INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID, STRICT;

CREATE TABLE flash_sale_stock_change (
  change_no INTEGER PRIMARY KEY,
  item_no INTEGER NOT NULL REFERENCES flash_sale_item,
  change_key TEXT NOT NULL,
  delta INTEGER NOT NULL,
  at INTEGER NOT NULL,
  UNIQUE (item_no, change_key)
) STRICT;

-- What happened to an order after it was recorded, in the transaction that did it: its history, and the outbox that
-- messages are sent from.
CREATE TABLE flash_sale_event (
  seq INTEGER PRIMARY KEY,
  order_id BLOB NOT NULL,
  event TEXT NOT NULL,
  at INTEGER NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX flash_sale_event_order ON flash_sale_event (order_id, seq);
