-- Numbered stock: raffle numbers, seats. An item that was made before sells a count, and an order of it has no numbers.

ALTER TABLE flash_sale_item ADD COLUMN numbered INTEGER NOT NULL DEFAULT 0 CHECK (numbered IN (0, 1));
ALTER TABLE flash_sale_item ADD COLUMN first_number INTEGER NOT NULL DEFAULT 0
  CHECK (first_number BETWEEN 0 AND 2147483647);
ALTER TABLE flash_sale_item ADD COLUMN labels TEXT NOT NULL DEFAULT '';

-- Ascending, four bytes each, most significant first; null for a count. They stay when the order has ended.
ALTER TABLE flash_sale_order ADD COLUMN numbers BLOB CHECK (numbers IS NULL OR length(numbers) = 4 * quantity);

-- I2: who owns a number. Only PENDING and PAID orders have rows, and refunded ones whose units were not restocked, so a
-- number that is free costs nothing and a second owner finds the key taken.
CREATE TABLE flash_sale_number (
  item_no INTEGER NOT NULL,
  number INTEGER NOT NULL CHECK (number BETWEEN 0 AND 2147483647),
  order_id BLOB NOT NULL CHECK (length(order_id) = 16),
  PRIMARY KEY (item_no, number)
) WITHOUT ROWID, STRICT;
