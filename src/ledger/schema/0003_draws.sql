-- The draw of a numbered item. The seed is made with the item, before anybody can buy; the rest when it is drawn, once.

CREATE TABLE flash_sale_draw (
  item_no INTEGER PRIMARY KEY REFERENCES flash_sale_item,
  seed BLOB NOT NULL CHECK (length(seed) = 32),
  mix TEXT,
  entrants BLOB, -- Ascending, four bytes each, most significant first; as the winners, who stand in the order of prizes.
  winners BLOB,
  drawn_at INTEGER,
  CHECK ((drawn_at IS NULL) = (mix IS NULL) AND (drawn_at IS NULL) = (entrants IS NULL)
    AND (drawn_at IS NULL) = (winners IS NULL))
) STRICT;

CREATE TRIGGER flash_sale_draw_stays BEFORE UPDATE ON flash_sale_draw WHEN old.drawn_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a draw stays as it is'); END;
CREATE TRIGGER flash_sale_draw_is_kept BEFORE DELETE ON flash_sale_draw
BEGIN SELECT RAISE(ABORT, 'a draw stays as it is'); END;
