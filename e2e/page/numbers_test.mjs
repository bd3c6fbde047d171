// The logic of the picker without a browser: labels, bits of availability, picks, and where keys lead in the grid.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

// The file has no package that says it is a module, and imports nothing: so it can be given as an address.
const pageDir = process.env.WEIR_PAGE_DIR ?? new URL('../../web/page', import.meta.url).pathname;
const source = readFileSync(join(pageDir, 'numbers.js')).toString('base64');
const { afterKey, columnsFor, Labels, NumberPage, pageOf, pagesOf, Picks, windowAt } = await import(
  `data:text/javascript;base64,${source}`
);

const kRaffle = { first: 1, last: 1_000_000 };
const kHall = { first: 1, last: 26 };

describe('labels', () => {
  test('WithoutATextANumberIsItsOwnLabel', () => {
    const labels = new Labels(undefined, kRaffle);
    assert.equal(labels.label(7), '7');
    assert.equal(labels.widest, '1000000');
    assert.equal(labels.find('7'), 7);
  });

  test('APrefixAndDigits', () => {
    const labels = new Labels('A-###', { first: 1, last: 5000 });
    assert.equal(labels.label(7), 'A-007');
    assert.equal(labels.label(4217), 'A-4217');
    assert.equal(labels.widest, 'A-5000');
    for (const text of ['A-007', 'a-007', 'A007', 'a 7', '7', '007', ' A - 007 '])
      assert.equal(labels.find(text), 7, text);
    for (const text of ['B-007', 'A', 'A-', '', 'A-7.5', 'A-5001', '0', '-7x'])
      assert.equal(labels.find(text), null, text);
  });

  test('RowsWithSeats', () => {
    const labels = new Labels('A:12,B:14', kHall);
    assert.deepEqual(
      [1, 12, 13, 26].map((n) => labels.label(n)),
      ['A-1', 'A-12', 'B-1', 'B-14'],
    );
    assert.equal(labels.widest, 'A-12');
    assert.equal(labels.isPlain, false);
    for (const text of ['B-1', 'b1', 'B 1', 'B-01', '13']) assert.equal(labels.find(text), 13, text);
    for (const text of ['A-13', 'B-0', 'B-15', 'C-1', 'B', '27']) assert.equal(labels.find(text), null, text);
  });

  test('RowsBeginAtTheItemsFirstNumber', () => {
    const labels = new Labels('A:12,B:14', { first: 101, last: 126 });
    assert.equal(labels.label(113), 'B-1');
    assert.equal(labels.find('B-1'), 113);
  });

  test('ARowThatEndsInDigitsIsMeantOnlyWhenItIsClear', () => {
    const labels = new Labels('Row 1:20,Row 11:20', { first: 1001, last: 1040 });
    assert.equal(labels.find('row 1-11'), 1011);
    assert.equal(labels.find('row 11-1'), 1021);
    assert.equal(labels.find('row 111'), null, 'row 1 seat 11, or row 11 seat 1');
  });

  test('WhateverDigitsAKeyboardHasAndOnlyWholeNumbers', () => {
    const labels = new Labels('', kRaffle);
    for (const text of ['004217', '4217', '４２１７', ' 4 217 ']) assert.equal(labels.find(text), 4217, text);
    for (const text of ['4217.5', '4,217', '-1', '1000001', '1e3', '0x10', '99999999999'])
      assert.equal(labels.find(text), null, text);
  });

  test('EveryLabelFindsItsNumber', () => {
    for (const [text, range] of [
      ['A-###', { first: 0, last: 1200 }],
      ['A:12,B:14', kHall],
      ['2026-##', kHall],
    ]) {
      const labels = new Labels(text, range);
      for (let n = range.first; n <= range.last; ++n) assert.equal(labels.find(labels.label(n)), n, labels.label(n));
    }
  });
});

describe('pages of availability', () => {
  test('TheLowestNumberIsTheHighestBitOfTheFirstByte', () => {
    const page = NumberPage.read(new Uint8Array([0b1000_0001, 0b0100_0000]), 100, 10);
    const free = Array.from({ length: 12 }, (_, i) => 99 + i).filter((n) => page.isFree(n));
    assert.deepEqual(free, [100, 107, 109]);
    assert.equal(page.has(99), false);
    assert.equal(page.has(110), false);
  });

  test('BitsBehindTheCountAreNobodys', () => {
    const page = NumberPage.read(new Uint8Array([0xff]), 1, 3);
    assert.equal(page.isFree(3), true);
    assert.equal(page.isFree(4), false);
    assert.equal(page.nextFree(4), null);
  });

  test('APageThatIsNotWhatItsHeadersSayIsRefused', () => {
    assert.equal(NumberPage.read(new Uint8Array(2), 1, 17), null);
    assert.equal(NumberPage.read(new Uint8Array(3), 1, 16), null);
    assert.equal(NumberPage.read(new Uint8Array(2), NaN, 16), null);
    assert.equal(NumberPage.read(new Uint8Array(0), 1, 0), null);
  });

  test('TheNextFreeNumberIsFoundWhereverItIs', () => {
    for (const place of [0, 1, 7, 8, 9, 63, 64, 1000, 65_535]) {
      const bits = new Uint8Array(8192);
      bits[place >> 3] = 0x80 >> (place & 7);
      const page = NumberPage.read(bits, 1, 65_536);
      for (const from of [-5, 1, place, place + 1])
        assert.equal(page.nextFree(from), place + 1, `${place} from ${from}`);
      assert.equal(page.nextFree(place + 2), null);
    }
  });

  test('NumbersLieOnPagesCountedFromTheItemsFirst', () => {
    assert.equal(pagesOf(kRaffle), 16);
    assert.equal(pageOf(1, kRaffle), 0);
    assert.equal(pageOf(65_536, kRaffle), 0);
    assert.equal(pageOf(65_537, kRaffle), 1);
    assert.equal(pageOf(1_000_000, kRaffle), 15);
    assert.equal(pagesOf({ first: 5, last: 5 }), 1);
  });
});

describe('picks', () => {
  test('TheLimitHoldsAndAPickIsCountedOnce', () => {
    const picks = new Picks();
    assert.equal(picks.add(7, 2), true);
    assert.equal(picks.add(7, 2), true);
    assert.equal(picks.add(3, 2), true);
    assert.equal(picks.add(9, 2), false);
    assert.deepEqual(picks.mine, [3, 7]);
    picks.drop(7);
    assert.equal(picks.add(9, 2), true);
    assert.deepEqual(picks.mine, [3, 9]);
  });

  test('WhatOthersTookIsMarkedOnceAndMakesRoom', () => {
    const picks = new Picks([3, 7, 42]);
    assert.deepEqual(
      picks.lose((n) => n === 7 || n === 8),
      [7],
    );
    assert.deepEqual(
      picks.lose((n) => n === 7),
      [],
    );
    assert.deepEqual([picks.mine, picks.gone], [[3, 42], [7]]);
    assert.equal(picks.add(9, 3), true);
    picks.drop(7);
    assert.deepEqual(picks.gone, []);
  });

  test('WhatCameBackIsPickedOnlyWhenSomebodyAsks', () => {
    const picks = new Picks([7]);
    picks.lose(() => true);
    assert.equal(picks.has(7), false);
    picks.add(7, 1);
    assert.deepEqual([picks.mine, picks.gone], [[7], []]);
  });

  test('EveryChangeHasAVersionAndNothingElseHas', () => {
    const picks = new Picks();
    const changes = (act) => {
      const before = picks.version;
      act();
      return picks.version !== before;
    };
    assert.equal(
      changes(() => picks.add(1, 1)),
      true,
    );
    assert.equal(
      changes(() => picks.add(1, 1)),
      false,
    );
    assert.equal(
      changes(() => picks.add(2, 1)),
      false,
    );
    assert.equal(
      changes(() => picks.lose(() => false)),
      false,
    );
    assert.equal(
      changes(() => picks.lose(() => true)),
      true,
    );
    assert.equal(
      changes(() => picks.drop(5)),
      false,
    );
    assert.equal(
      changes(() => picks.drop(1)),
      true,
    );
  });
});

describe('the grid', () => {
  test('ColumnsAreThoseThatFit', () => {
    assert.equal(columnsFor(536, 48, 4), 10);
    assert.equal(columnsFor(254, 46, 4), 5);
    assert.equal(columnsFor(254, 70, 4), 3);
    assert.equal(columnsFor(254, 500, 4), 1);
  });

  test('TheWindowIsWholeRowsFromTheFirstNumber', () => {
    assert.deepEqual(windowAt(1, kRaffle, 10), { from: 1, to: 100, size: 100 });
    assert.deepEqual(windowAt(100, kRaffle, 10), { from: 1, to: 100, size: 100 });
    assert.deepEqual(windowAt(4217, kRaffle, 10), { from: 4201, to: 4300, size: 100 });
    assert.deepEqual(windowAt(25, kHall, 5), { from: 1, to: 26, size: 50 });
  });

  test('KeysLeadWhereTheySayAndNeverOutOfTheItem', () => {
    const after = (key, number, ctrlKey = false) => afterKey({ key, ctrlKey }, number, kRaffle, 10);
    assert.equal(after('ArrowRight', 10), 11);
    assert.equal(after('ArrowLeft', 11), 10);
    assert.equal(after('ArrowDown', 95), 105);
    assert.equal(after('ArrowUp', 105), 95);
    assert.equal(after('Home', 17), 11);
    assert.equal(after('End', 17), 20);
    assert.equal(after('Home', 4217, true), 1);
    assert.equal(after('End', 4217, true), 1_000_000);
    assert.equal(after('PageDown', 17), 117);
    assert.equal(after('PageUp', 117), 17);
    for (const key of ['ArrowLeft', 'ArrowUp', 'PageUp', 'Home']) assert.equal(after(key, 1), 1, key);
    for (const key of ['ArrowRight', 'ArrowDown', 'PageDown', 'End'])
      assert.equal(after(key, 1_000_000), 1_000_000, key);
    assert.equal(after('Enter', 5), null);
  });
});
