-- The first schema of the ledger on PostgreSQL. Times are microseconds UTC, money is minor units, statuses are the
-- numbers of src/domain/order.h. Constraints are the wall behind the rules: in a healthy system none ever fires. No
-- unique index spans rows that have ended: who let an order expire may buy again.

-- The ledger's clock: the server's, or the one that a test hands in.
CREATE FUNCTION flash_sale_now(given bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
  'SELECT coalesce(given, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)';

CREATE TABLE flash_sale_meta (
  name text PRIMARY KEY,
  value bigint NOT NULL
);

CREATE TABLE flash_sale_tenant (
  tenant_no integer PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  domains text NOT NULL,
  order_key_0 uuid NOT NULL,
  order_key_1 uuid NOT NULL
);

CREATE TABLE flash_sale (
  sale_no integer PRIMARY KEY,
  tenant_no integer NOT NULL REFERENCES flash_sale_tenant,
  id text COLLATE "C" NOT NULL,
  title text NOT NULL,
  opens_at bigint NOT NULL,
  closes_at bigint NOT NULL CHECK (closes_at > opens_at),
  paused boolean NOT NULL DEFAULT false,
  closed boolean NOT NULL DEFAULT false,
  limit_per_buyer integer NOT NULL CHECK (limit_per_buyer BETWEEN 1 AND 1000),
  pay_within_us bigint NOT NULL CHECK (pay_within_us > 0),
  secret text NOT NULL,
  UNIQUE (tenant_no, id)
);

-- I1: what is held and sold never passes the total. Its row is the first lock of whoever changes orders of the item.
CREATE TABLE flash_sale_item (
  item_no integer PRIMARY KEY,
  sale_no integer NOT NULL REFERENCES flash_sale,
  tenant_no integer NOT NULL REFERENCES flash_sale_tenant,
  id text COLLATE "C" NOT NULL,
  title text NOT NULL,
  price bigint NOT NULL CHECK (price >= 0),
  currency text NOT NULL,
  total bigint NOT NULL,
  held bigint NOT NULL DEFAULT 0,
  sold bigint NOT NULL DEFAULT 0,
  CHECK (held >= 0 AND sold >= 0 AND held + sold <= total),
  UNIQUE (tenant_no, id)
) WITH (fillfactor = 50);

-- I3: live units of a buyer across the items of a sale. The row stays at 0 units.
CREATE TABLE flash_sale_buyer (
  sale_no integer NOT NULL,
  buyer text COLLATE "C" NOT NULL,
  units bigint NOT NULL,
  max_units bigint NOT NULL,
  last_order uuid,
  PRIMARY KEY (sale_no, buyer),
  CHECK (units BETWEEN 0 AND max_units)
) WITH (fillfactor = 70);

-- `hold_id` is set once late money has taken the units again: the gate knows them by that id from then on. A claim that
-- was refused after the gate had taken it is REJECTED; where nobody could read its message, only its id is known.
CREATE TABLE flash_sale_order (
  order_id uuid PRIMARY KEY,
  tenant_no integer NOT NULL,
  sale_no integer NOT NULL,
  item_no integer NOT NULL,
  buyer text COLLATE "C" NOT NULL,
  quantity integer NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  currency text NOT NULL,
  status smallint NOT NULL CHECK (status BETWEEN 0 AND 5),
  reason text NOT NULL DEFAULT '',
  digest bigint NOT NULL,
  epoch bigint NOT NULL DEFAULT 0, -- Of the gate that admitted it; 0 without a shared gate.
  created_at bigint NOT NULL,
  pay_by bigint NOT NULL,
  paid_at bigint,
  ended_at bigint,
  extended boolean NOT NULL DEFAULT false,
  kept_units integer NOT NULL DEFAULT 0, -- Refunded without restocking: they go on counting as sold and the buyer's.
  hold_id uuid,
  CHECK (status = 4 OR (item_no > 0 AND buyer <> '' AND quantity BETWEEN 1 AND 1000)),
  CHECK (status <> 1 OR paid_at IS NOT NULL),
  CHECK ((ended_at IS NOT NULL) = (status >= 2))
);
CREATE INDEX flash_sale_order_due ON flash_sale_order (pay_by) WHERE status = 0;
CREATE INDEX flash_sale_order_buyer ON flash_sale_order (tenant_no, buyer, created_at, order_id);

CREATE TABLE flash_sale_payment (
  payment_id uuid PRIMARY KEY,
  order_id uuid NOT NULL,
  tenant_no integer NOT NULL,
  gateway text COLLATE "C" NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  state smallint NOT NULL CHECK (state BETWEEN 0 AND 5),
  captured bigint CHECK (captured >= 0), -- Minor units that the gateway says it has taken; null until it says so.
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX flash_sale_payment_order ON flash_sale_payment (order_id);
CREATE INDEX flash_sale_payment_late ON flash_sale_payment (created_at) WHERE state = 3;
-- I7: one payment at a time can become an order's money.
CREATE UNIQUE INDEX flash_sale_payment_live ON flash_sale_payment (order_id) WHERE state IN (0, 1, 2);

-- I7: one refund a payment; the id is the idempotency key at the gateway. `of_order`: the money of a PAID order goes
-- back because somebody asked for it. Else money that could not be kept; the order's status does not follow it.
CREATE TABLE flash_sale_refund (
  refund_id uuid PRIMARY KEY,
  payment_id uuid NOT NULL UNIQUE,
  order_id uuid NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  currency text NOT NULL,
  done boolean NOT NULL,
  of_order boolean NOT NULL,
  restock boolean NOT NULL,
  reason text NOT NULL,
  created_at bigint NOT NULL,
  done_at bigint
);
CREATE INDEX flash_sale_refund_due ON flash_sale_refund (created_at) WHERE NOT done;
CREATE INDEX flash_sale_refund_order ON flash_sale_refund (order_id);
CREATE UNIQUE INDEX flash_sale_refund_once ON flash_sale_refund (order_id) WHERE of_order;

-- One row an event of a gateway, in the transaction of its effect. Not applied: its payment is not known here yet.
CREATE TABLE flash_sale_inbox (
  gateway text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  payment_id uuid NOT NULL,
  kind smallint NOT NULL,
  refund_id uuid NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  body bytea NOT NULL,
  received_at bigint NOT NULL,
  applied boolean NOT NULL,
  PRIMARY KEY (gateway, event_id)
);
CREATE INDEX flash_sale_inbox_payment ON flash_sale_inbox (payment_id);

CREATE TABLE flash_sale_request_key (
  id uuid PRIMARY KEY,
  digest bigint NOT NULL,
  created_at bigint NOT NULL
);

CREATE TABLE flash_sale_stock_change (
  change_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  item_no integer NOT NULL REFERENCES flash_sale_item,
  change_key text COLLATE "C" NOT NULL,
  delta bigint NOT NULL,
  at bigint NOT NULL,
  UNIQUE (item_no, change_key)
);

-- What happened to an order after it was recorded, in the transaction that did it: its history, and the outbox that
-- messages are sent from.
CREATE TABLE flash_sale_event (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id uuid NOT NULL,
  event text NOT NULL,
  at bigint NOT NULL,
  detail text NOT NULL
);
CREATE INDEX flash_sale_event_order ON flash_sale_event (order_id, seq);

-- Which claims of a sale are current. A sale without a row has no shared gate.
CREATE TABLE flash_sale_gate (
  sale_no integer PRIMARY KEY REFERENCES flash_sale,
  epoch bigint NOT NULL CHECK (epoch >= 1),
  open boolean NOT NULL,
  last_open bigint NOT NULL CHECK (last_open BETWEEN 0 AND epoch),
  pin text NOT NULL,
  builder text NOT NULL,
  builder_seen_at bigint NOT NULL,
  CHECK (NOT open OR last_open = epoch)
);

CREATE TABLE flash_sale_log_offset (
  topic_id text COLLATE "C" NOT NULL,
  partition integer NOT NULL,
  next_offset bigint NOT NULL CHECK (next_offset >= 0),
  PRIMARY KEY (topic_id, partition)
) WITH (fillfactor = 50);

-- I6: holds that ended and that the gate has not given up yet.
CREATE TABLE flash_sale_release (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sale_no integer NOT NULL,
  hold_id uuid NOT NULL
);
CREATE INDEX flash_sale_release_sale ON flash_sale_release (sale_no, id);

-- I7: the second hold of late money. `kept` is null until it is decided.
CREATE TABLE flash_sale_retake (
  hold_id uuid PRIMARY KEY,
  order_id uuid NOT NULL,
  payment_id uuid NOT NULL UNIQUE,
  sale_no integer NOT NULL,
  kept boolean,
  created_at bigint NOT NULL
);
CREATE INDEX flash_sale_retake_order ON flash_sale_retake (order_id);
CREATE INDEX flash_sale_retake_open ON flash_sale_retake (created_at) WHERE kept IS NULL;

-- Messages that nobody could record, as they came, before the offset passed them.
CREATE TABLE flash_sale_parked (
  topic_id text COLLATE "C" NOT NULL,
  partition integer NOT NULL,
  log_offset bigint NOT NULL,
  order_id uuid,
  message_key bytea NOT NULL,
  bytes bytea NOT NULL,
  problem text NOT NULL,
  parked_at bigint NOT NULL,
  replayed boolean NOT NULL DEFAULT false,
  PRIMARY KEY (topic_id, partition, log_offset)
);
CREATE INDEX flash_sale_parked_new ON flash_sale_parked (parked_at) WHERE NOT replayed;

-- Stops a transaction whose statement changed fewer rows than it locked: a bug, and nothing of it may be committed.
CREATE FUNCTION flash_sale_all(changed bigint, wanted bigint) RETURNS void LANGUAGE plpgsql AS '
BEGIN
  IF changed <> wanted THEN
    RAISE EXCEPTION ''% rows changed of %'', changed, wanted USING ERRCODE = ''WE001'';
  END IF;
END';
