-- What was repaired between a gate and this ledger, one row a repair: nobody changes either without leaving his trace.
-- `order_id` is null where it was about a whole sale; it may name a hold that no order belongs to.
CREATE TABLE flash_sale_repair (
  repair_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sale_no integer NOT NULL,
  order_id uuid,
  finding text NOT NULL,
  detail text NOT NULL,
  at bigint NOT NULL
);
CREATE INDEX flash_sale_repair_order ON flash_sale_repair (order_id) WHERE order_id IS NOT NULL;
