// The picker of numbered stock in a browser, against a stand-in of the API: what a person finds, picks, loses and buys.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import {
  at,
  device,
  endDevices,
  eventually,
  heard,
  hide,
  inspect,
  launch,
  listen,
  pause,
  press,
  quit,
  screenOf,
  shoot,
  text,
  visit,
} from './browser.mjs';
import { Stub, tokenOf, trouble } from './stub.mjs';

const kButtonsMax = 100; // In the grid, whatever the item has.
const kLabel = (n) => `A-${String(n).padStart(3, '0')}`;
const raffle = (more) => ({
  itemId: 'I1',
  title: 'Raffle ticket',
  price: { value: 500, currency: 'EUR' },
  numbers: { first: 1, last: 500 },
  labels: 'A-###',
  labelOf: kLabel,
  ...more,
});
const kMillion = { numbers: { first: 1, last: 1_000_000 }, labels: undefined };

let stub = null;
async function shop({ gone = [], item, limit = 5, ...options } = {}) {
  stub = await new Stub({ limit, items: [raffle(item)], ...options }).listen();
  for (const n of gone) stub.items[0].gone.add(n);
  return stub;
}
const take = (...numbers) => numbers.forEach((n) => stub.items[0].gone.add(n));
const purchases = () => stub.asked('POST', /\/purchase$/);
const bodies = () => purchases().map((r) => r.body);
const asked = () => stub.asked('GET', /\/numbers$/);
const signedIn = (name = 'ana') => `${stub.url}/#token=${tokenOf(name)}`;

const cell = (page, label) => page.locator('.grid').getByRole('button', { name: new RegExp(`^${label}, `) });
const stateOf = (page, label) => cell(page, label).getAttribute('class');
const chips = (page) => page.locator('.chips button > :first-child').allInnerTexts();
const focused = (page) => page.evaluate(() => document.activeElement.innerText || document.activeElement.id);
const buttons = (page) => page.locator('.grid button').count();

/// Opens the shop and waits until availability is shown.
async function enter({ frozen, screen = 'O1', ...kind } = {}) {
  const page = await visit(await device(kind), signedIn(), { frozen });
  await at(page, screen);
  await page.locator('.grid button:not(.unknown)').first().waitFor();
  return page;
}
async function pick(page, ...numbers) {
  for (const n of numbers) await cell(page, kLabel(n)).click();
}

before(launch);
after(quit);
afterEach(async () => {
  await endDevices();
  await stub?.close();
  stub = null;
});

describe('choosing', () => {
  test('PickedNumbersAreBoughtAndStandOnTheReceipt', async () => {
    await shop({ gone: [3] });
    const page = await enter();
    await pick(page, 2, 7, 11, 14);
    assert.deepEqual(await chips(page), ['A-002', 'A-007', 'A-011', 'A-014']);
    assert.match(await text(page, '.picked'), /4 of 5[\s\S]*€20\.00[\s\S]*Picking holds nothing yet/);
    await page.getByRole('button', { name: 'Remove A-007' }).click();
    await pick(page, 14);
    assert.deepEqual(await chips(page), ['A-002', 'A-011']);
    assert.equal(await cell(page, 'A-007').getAttribute('aria-pressed'), 'false');
    assert.match(await text(page, '.picked'), /2 of 5[\s\S]*€10\.00/);

    await press(page, 'Buy 2 numbers');
    await at(page, 'R1');
    assert.deepEqual(bodies(), [{ numbers: [2, 11] }]);
    assert.match(purchases()[0].key, /^attempt-ana-0$/);
    assert.match(await text(page), /Numbers\s+A-002, A-011[\s\S]*€10\.00/);
    await press(page, 'Choose how to pay');
    await press(page, 'Pay €10.00');
    await at(page, 'D1');
    assert.match(await text(page), /Numbers\s+A-002, A-011/);
    await page.reload();
    await at(page, 'O1');
    assert.deepEqual(await chips(page), []);
    assert.match(await text(page, '.picker'), /Pick up to 3 numbers/);
    assert.equal(await stateOf(page, 'A-002'), 'taken');
  });

  test('TakenIsSaidWithoutColourAndCannotBePicked', async () => {
    await shop({ gone: [3] });
    const page = await enter();
    await cell(page, 'A-003').click({ force: true });
    assert.match(await text(page, '.picker .said'), /A-003 is taken/);
    assert.deepEqual(await chips(page), []);
    const looks = (label) =>
      cell(page, label).evaluate((node) => {
        const { textDecorationLine, fontWeight, borderTopColor } = getComputedStyle(node);
        const tick = getComputedStyle(node, '::after').content;
        return { struck: textDecorationLine, bold: Number(fontWeight) > 400, border: borderTopColor, tick };
      });
    await pick(page, 4);
    const [free, taken, mine] = [await looks('A-005'), await looks('A-003'), await looks('A-004')];
    assert.equal(taken.struck, 'line-through');
    assert.equal(taken.border, 'rgba(0, 0, 0, 0)');
    assert.deepEqual([free.struck, free.bold, free.tick], ['none', false, 'none']);
    assert.deepEqual([mine.bold, mine.tick.includes('✓')], [true, true]);
    assert.equal(await cell(page, 'A-003').getAttribute('aria-disabled'), 'true');
    assert.equal(await cell(page, 'A-004').getAttribute('aria-pressed'), 'true');
  });

  test('NoMoreThanTheLimitLessWhatHeHas', async () => {
    await shop({ limit: 3 });
    stub.addOrder('ana', undefined, { status: 'PAID', numbers: [400] });
    const page = await enter();
    await pick(page, 1, 2, 3);
    assert.deepEqual(await chips(page), ['A-001', 'A-002']);
    assert.match(await text(page, '.picker .said'), /You can buy 2\. Remove one first\./);
    assert.match(await text(page, '.picked'), /2 of 2/);
  });

  test('NoMoreThanOneClaimMayName', async () => {
    await shop({ limit: 2000 });
    const page = await enter();
    assert.match(await text(page, '.picker h2'), /^Pick up to 1,000 numbers$/);
  });

  test('ANumberIsFoundByItsNumberAndByItsLabel', async () => {
    await shop({ gone: [42, 43] });
    const page = await enter();
    const field = page.getByLabel('Find a number');
    const says = (words) => page.locator('#found', { hasText: words }).waitFor();
    await field.fill('417');
    await says('A-417 is free.');
    await field.fill('a-042');
    await says('A-042 is taken. The next free one is A-044.');
    assert.equal(await stateOf(page, 'A-042'), 'taken');
    await field.fill('A-501');
    await says('“A-501” is not a number of this item. It has A-001 to A-500.');
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
    await field.fill('A 44');
    await says('A-044 is free.');
    assert.equal(await field.getAttribute('aria-invalid'), null);
    await press(page, 'Pick it');
    await says('A-044 is on your list.');
    assert.deepEqual(await chips(page), ['A-044']);
    await field.fill('');
    await says('');
  });

  test('SeatsAreFoundByRow', async () => {
    const labelOf = (n) => (n <= 12 ? `A-${n}` : `B-${n - 12}`);
    await shop({ gone: [14], item: { labels: 'A:12,B:14', labelOf, numbers: { first: 1, last: 26 } } });
    const page = await enter();
    await page.getByLabel('Find a number').fill('b 2');
    await page.locator('#found', { hasText: 'B-2 is taken. The next free one is B-3.' }).waitFor();
    await page.getByLabel('Find a number').fill('B3');
    await page.keyboard.press('Enter');
    assert.deepEqual(await chips(page), ['B-3']);
    await press(page, 'Buy 1 number');
    await at(page, 'R1');
    assert.deepEqual(bodies(), [{ numbers: [15] }]);
    assert.match(await text(page), /Number\s+B-3/);
  });

  test('EverythingWorksFromTheKeyboard', async () => {
    await shop({ gone: [1, 2] });
    const page = await enter({ width: 1024 });
    await listen(page);
    const tabTo = async (check) => {
      for (let i = 0; i < 20; ++i) {
        await page.keyboard.press('Tab');
        if (check(await focused(page))) return;
      }
      assert.fail('no way there by Tab');
    };
    const keys = async (...names) => {
      for (const name of names) await page.keyboard.press(name);
    };
    await tabTo((words) => words === 'A-003');
    await keys('Space', 'ArrowRight', 'Enter');
    assert.deepEqual(await chips(page), ['A-003', 'A-004']);
    await eventually('it is spoken', async () => (await heard(page)).some((s) => /A-004, yours\. 2 of 5\./.test(s)));
    const columns = Number(await page.locator('.grid').getAttribute('aria-colcount'));
    const far = 1 + 20 * columns; // Two windows of ten rows on.
    await keys('PageDown', 'PageDown', 'Home', 'Space');
    assert.deepEqual(await chips(page), ['A-003', 'A-004', kLabel(far)]);
    assert.equal(await focused(page), kLabel(far));
    await keys('ArrowLeft');
    assert.equal(await focused(page), kLabel(far - 1));
    await keys('ArrowDown', 'ArrowDown', 'ArrowUp');
    assert.equal(await focused(page), kLabel(far - 1 + columns));
    await keys('Control+End');
    assert.equal(await focused(page), 'A-500');
    await keys('ArrowRight', 'ArrowDown');
    assert.equal(await focused(page), 'A-500');
    await keys('4', '2');
    assert.equal(await focused(page), 'find');
    await page.locator('#found', { hasText: 'A-042 is free.' }).waitFor();
    await keys('Enter');
    assert.deepEqual(await chips(page), ['A-003', 'A-004', 'A-042', kLabel(far)]);
    assert.equal(await page.locator('.grid button[tabindex="0"]').count(), 1, 'one stop for Tab');
    await tabTo((words) => words.startsWith('A-003'));
    await keys('Enter');
    assert.deepEqual(await chips(page), ['A-004', 'A-042', kLabel(far)]);
    assert.match(await focused(page), /^A-004/);
    await tabTo((words) => words.includes('Buy 3 numbers'));
    await keys('Enter');
    await at(page, 'R1');
    assert.deepEqual(bodies(), [{ numbers: [4, 42, far] }]);
  });

  test('RandomOnesNeedNoPick', async () => {
    await shop({ gone: [1, 2] });
    const page = await enter();
    await press(page, 'One more');
    await press(page, 'One more');
    await press(page, 'Buy 3 random ones');
    await at(page, 'R1');
    assert.deepEqual(bodies(), [{ random: 3 }]);
    assert.match(await text(page), /Numbers\s+A-003, A-004, A-005/);
  });

  test('WithNothingPickedBuySaysWhatToDo', async () => {
    await shop();
    const page = await enter();
    await listen(page);
    await page.locator('#buy').click({ force: true });
    await eventually('it is spoken', async () => (await heard(page)).some((s) => /Pick a number first/.test(s)));
    assert.match(await text(page, '.buy'), /Pick a number first, or buy a random one\./);
    assert.equal(purchases().length, 0);
  });

  test('PicksOutliveAReloadButNotThePurchase', async () => {
    await shop();
    const page = await enter();
    await pick(page, 5, 9);
    await page.reload();
    await cell(page, 'A-005').waitFor();
    assert.deepEqual(await chips(page), ['A-005', 'A-009']);
    await press(page, 'Buy 2 numbers');
    await at(page, 'R1');
    await page.reload();
    await at(page, 'R1');
    await press(page, 'Give it back');
    await page.getByRole('dialog').getByRole('button', { name: 'Give it back' }).click();
    await press(page, 'Back to the sale');
    await at(page, 'O1');
    await cell(page, 'A-005').waitFor();
    assert.deepEqual(await chips(page), []);
  });

  test('CountedStockNeverLoadsThePicker', async () => {
    await shop({ item: { numbers: undefined, labels: undefined } });
    const page = await visit(await device(), signedIn());
    const loaded = [];
    page.on('request', (request) => loaded.push(request.url()));
    await page.reload();
    await at(page, 'O1');
    assert.equal(await page.locator('.grid').count(), 0);
    assert.deepEqual(
      loaded.filter((url) => /picker|numbers/.test(url)),
      [],
    );
    await page.locator('#buy').click();
    await at(page, 'R1');
    assert.deepEqual(bodies(), [{}]);
  });
});

describe('numbers that others take', () => {
  test('WhatIsLeftIsKeptUnderANewKey', async () => {
    await shop();
    const page = await enter();
    await pick(page, 3, 7, 9, 12, 15);
    take(7, 12);
    await press(page, 'Buy 5 numbers');
    const dialog = page.getByRole('alertdialog', {
      name: 'A-007 and A-012 were taken a moment ago. Keep the other three?',
    });
    await dialog.waitFor();
    assert.match(await dialog.innerText(), /A-003, A-009 and A-015/);
    assert.equal(await focused(page), 'Keep the others');
    assert.equal(stub.orders.length, 0);
    await inspect(page, 'the question after a clash');
    await press(page, 'Keep the others');
    await at(page, 'R1');
    assert.deepEqual(bodies(), [{ numbers: [3, 7, 9, 12, 15] }, { numbers: [3, 9, 15] }]);
    assert.notEqual(purchases()[0].key, purchases()[1].key);
    assert.match(await text(page), /A-003, A-009, A-015/);
  });

  test('ChoosingAgainKeepsTheRestAndMarksWhatIsLost', async () => {
    await shop();
    const page = await enter();
    await pick(page, 3, 7);
    // The bits still say that it is free: caches may be a second behind.
    stub.purchases = [(x) => x.send(409, { error: 'NUMBER_TAKEN', taken: [7] })];
    await press(page, 'Buy 2 numbers');
    await page.getByRole('alertdialog', { name: 'A-007 was taken a moment ago. Keep the other one?' }).waitFor();
    await press(page, 'Choose again');
    assert.equal(await screenOf(page), 'O1');
    assert.deepEqual(await chips(page), ['A-003', 'A-007']);
    assert.match(await text(page, '.picked'), /1 of 5[\s\S]*A-007 was taken a moment ago\.[\s\S]*€5\.00/);
    assert.equal(await stateOf(page, 'A-007'), 'taken');
    await page.getByRole('button', { name: 'Remove A-007 (taken)' }).click();
    assert.equal(await page.locator('.picked .notice').isVisible(), false);
    await pick(page, 8);
    await press(page, 'Buy 2 numbers');
    await at(page, 'R1');
    assert.deepEqual(bodies()[1], { numbers: [3, 8] });
    assert.notEqual(purchases()[0].key, purchases()[1].key);
  });

  test('EscapeIsToChooseAgain', async () => {
    await shop();
    const page = await enter();
    await pick(page, 3, 7);
    take(7);
    await press(page, 'Buy 2 numbers');
    await page.getByRole('alertdialog').waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await page.getByRole('alertdialog').count(), 0);
    await pause(600);
    assert.equal(await page.getByRole('alertdialog').count(), 0, 'it asks once');
    assert.equal(purchases().length, 1);
  });

  test('WhenNothingIsLeftRandomOnesAreOffered', async () => {
    await shop();
    const page = await enter();
    await pick(page, 3, 7);
    take(3, 7);
    await press(page, 'Buy 2 numbers');
    await page
      .getByRole('alertdialog', {
        name: 'A-003 and A-007 were taken a moment ago. Nothing that you picked is left.',
      })
      .waitFor();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Buy 2 random ones' }).click();
    await at(page, 'R1');
    assert.deepEqual(bodies()[1], { random: 2 });
    assert.notEqual(purchases()[0].key, purchases()[1].key);
    assert.match(await text(page), /A-001, A-002/);
  });

  test('TheRefreshKeepsThePicksAsksByTagAndMarksWhatIsLost', async () => {
    await shop();
    const page = await enter({ frozen: true });
    await page.clock.runFor(1500);
    await pick(page, 3, 7);
    await listen(page);
    const refresh = async () => {
      await pause(1100); // Of real time: for so long an answer is fresh.
      const before = asked().length;
      for (let i = 0; i < 12 && asked().length === before; ++i) {
        await page.clock.runFor(500);
        await pause(30);
      }
      assert.equal(asked().length, before + 1, 'one question within 6 s');
      await pause(50);
      await page.clock.runFor(300);
      return asked().at(-1).headers['if-none-match'];
    };
    assert.match(await refresh(), /^"/, 'asked by tag');
    assert.deepEqual(await chips(page), ['A-003', 'A-007']);
    take(7, 8);
    await refresh();
    await eventually('the loss is shown', async () => (await stateOf(page, 'A-007')) === 'taken');
    assert.equal(await stateOf(page, 'A-008'), 'taken');
    assert.equal(await stateOf(page, 'A-003'), 'yours');
    assert.match(await text(page, '.picked'), /1 of 5[\s\S]*A-007 was taken a moment ago\./);
    await page.clock.runFor(6000);
    await eventually('the loss is spoken', async () =>
      (await heard(page)).some((s) => s === 'alert: A-007 was taken a moment ago. You have 1 number on your list.'),
    );
    assert.ok(asked().every((r) => r.query.get('page') === '0'));
  });

  test('AHiddenTabAsksNothingAndAsksOnceOnReturn', async () => {
    await shop();
    const page = await enter({ frozen: true });
    await hide(page, true);
    const before = asked().length;
    await page.clock.runFor(60_000);
    assert.equal(asked().length, before);
    await pause(1100);
    await hide(page, false);
    await page.clock.runFor(200);
    await eventually('one question', () => asked().length === before + 1);
  });

  test('HisOwnClaimIsNoLoss', async () => {
    await shop();
    stub.purchases = [
      async (x, claim) => {
        const { status, body, headers } = claim();
        await pause(3000); // The refresh that is under way sees his own number as taken.
        x.send(status, body, headers);
      },
    ];
    const page = await enter();
    await listen(page);
    await pick(page, 3);
    stub.numbersAfter = 1500;
    const before = asked().length;
    await eventually('a refresh', () => asked().length > before);
    await page.locator('#buy').click();
    await pause(2500);
    assert.equal(await screenOf(page), 'P1');
    assert.deepEqual(await chips(page), ['A-003']);
    assert.equal(await page.locator('.picked .notice').isVisible(), false);
    await at(page, 'R1');
    assert.deepEqual(
      (await heard(page)).filter((s) => /taken/.test(s)),
      [],
    );
    assert.equal(purchases().length, 1);
  });
});

describe('states of the sale and of the network', () => {
  test('BeforeTheOpeningNumbersArePickedAndThePressIsSentAtTheOpening', async () => {
    await shop({ opensIn: 120_000 });
    const page = await enter({ screen: 'S2' });
    await pick(page, 3);
    assert.equal(await page.locator('#buy').getAttribute('aria-disabled'), 'true');
    assert.equal(await page.getByRole('button', { name: 'random' }).getAttribute('aria-disabled'), 'true');
    stub.sale.opensAt = stub.now() + 5000;
    await hide(page, false);
    await page.locator('#buy').focus();
    await eventually('less than a second is left', () => stub.now() > stub.sale.opensAt - 600);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await at(page, 'R1');
    assert.deepEqual(bodies(), [{ numbers: [3] }]);
    assert.ok(purchases()[0].at >= stub.sale.opensAt);
  });

  test('PausedKeepsThePicks', async () => {
    await shop();
    stub.paused = true;
    const page = await enter({ screen: 'O5' });
    await pick(page, 3);
    await page.locator('#buy').click({ force: true });
    assert.equal(purchases().length, 0);
    stub.paused = false;
    await hide(page, false);
    await at(page, 'O1');
    assert.deepEqual(await chips(page), ['A-003']);
  });

  test('SoldOutAndEndedShowNoPicker', async () => {
    await shop({ item: { numbers: { first: 1, last: 3 } }, gone: [1, 2] });
    const page = await enter();
    await pick(page, 3);
    take(3);
    await press(page, 'Buy 1 number');
    await at(page, 'O4');
    assert.match(await text(page), /Sold out\. Everything has been paid for\./);
    assert.equal(await page.locator('.grid').isVisible(), false);
    assert.equal(await page.locator('.picked').isVisible(), false);
    stub.sale.closesAt = stub.now() - 1000;
    await page.reload();
    await at(page, 'O6');
    assert.equal(await page.locator('.grid').isVisible(), false);
  });

  test('AllReservedIsNotSoldOut', async () => {
    await shop({ item: { numbers: { first: 1, last: 2 } } });
    stub.addOrder('bob', undefined, { quantity: 2, numbers: [1, 2] });
    const page = await visit(await device(), signedIn());
    await at(page, 'O3');
    assert.equal(await page.locator('.grid').isVisible(), false);
    stub.orders[0].status = 'CANCELLED';
    await hide(page, false);
    await at(page, 'O1');
    await cell(page, 'A-001').click();
    assert.deepEqual(await chips(page), ['A-001']);
  });

  test('A503IsSentAgainWithTheSameKeyAndTheSameNumbers', async () => {
    await shop();
    stub.purchases = [trouble.unavailable, trouble.unavailable];
    const page = await enter();
    await pick(page, 3, 9);
    await page.locator('#buy').click();
    await at(page, 'E4');
    await at(page, 'R1');
    assert.equal(purchases().length, 3);
    assert.equal(new Set(purchases().map((r) => r.key + JSON.stringify(r.body))).size, 1);
  });

  test('AClashAfterA503IsStillAsked', async () => {
    await shop();
    stub.purchases = [
      (x) => {
        take(9);
        trouble.unavailable(x);
      },
    ];
    const page = await enter();
    await pick(page, 3, 9);
    await page.locator('#buy').click();
    await at(page, 'E4');
    await page.getByRole('alertdialog', { name: 'A-009 was taken a moment ago. Keep the other one?' }).waitFor();
    await press(page, 'Keep the other one');
    await at(page, 'R1');
    assert.deepEqual(bodies().at(-1), { numbers: [3] });
  });

  test('ALostAnswerIsLookedForAndNothingIsBoughtTwice', async () => {
    await shop();
    stub.purchases = [trouble.lostAfter];
    const page = await enter();
    await pick(page, 3, 9);
    await page.locator('#buy').click();
    await at(page, 'P4');
    await at(page, 'R1');
    assert.match(await text(page), /A-003, A-009/);
    assert.equal(purchases().length, 1);
    assert.equal(stub.orders.length, 1);
  });

  test('OfflineForAWhileEndsInOneOrderOfThePickedNumbers', async () => {
    await shop();
    const page = await enter();
    await pick(page, 3, 9);
    await page.context().setOffline(true);
    await page.locator('#buy').click();
    await at(page, 'P4');
    await pause(1500);
    await page.context().setOffline(false);
    await at(page, 'R1');
    assert.equal(stub.orders.length, 1);
    assert.deepEqual(stub.orders[0].numbers, [3, 9]);
  });

  test('AnEndedSessionKeepsThePicks', async () => {
    await shop();
    stub.purchases = [trouble.signedOut];
    const page = await enter();
    await pick(page, 3, 9);
    await page.locator('#buy').click();
    await page.locator('#notices', { hasText: 'your choice is kept' }).waitFor();
    assert.deepEqual(await chips(page), ['A-003', 'A-009']);
    await press(page, 'Sign in as a guest');
    await page.locator('#account', { hasText: /guest-/ }).waitFor();
    await page.locator('#buy').click();
    await at(page, 'R1');
    assert.deepEqual(stub.orders[0].numbers, [3, 9]);
  });

  test('WhoHasHisLimitIsShownHisOrder', async () => {
    await shop({ limit: 1 });
    const page = await enter();
    stub.addOrder('ana', undefined, { status: 'PAID', numbers: [44], paidAt: stub.now() });
    await pick(page, 3);
    await page.locator('#buy').click();
    await at(page, 'X2');
    await press(page, 'See my order');
    await at(page, 'D1');
    assert.match(await text(page), /A-044/);
  });
});

describe('large items and small screens', () => {
  for (const [count, width] of [
    [1_000_000, 320],
    [10_000_000, 1024],
  ]) {
    test(`Of${count}NumbersOnlyTheWindowIsInTheDocumentAt${width}`, async () => {
      await shop({ item: { ...kMillion, numbers: { first: 1, last: count } } });
      const page = await enter({ width });
      const most = async () => {
        const now = await buttons(page);
        assert.ok(now > 0 && now <= kButtonsMax, `${now} buttons`);
        return now;
      };
      const size = await most();
      await page.getByLabel('Find a number').fill(String(count - 123));
      await page.locator('#found', { hasText: `${count - 123} is free.` }).waitFor();
      await most();
      await cell(page, count - 123).click();
      await page.keyboard.press('Control+End');
      assert.equal(await focused(page), String(count));
      await page.keyboard.press('Control+Home');
      assert.equal(await focused(page), '1');
      assert.equal(await page.locator('.grid').getAttribute('aria-rowcount'), String(Math.ceil(count / (size / 10))));
      const took = await page.evaluate(async () => {
        const later = document.querySelector('[aria-label="Later numbers"]');
        const begin = performance.now();
        for (let i = 0; i < 100; ++i) later.click();
        return (performance.now() - begin) / 100;
      });
      await most();
      assert.ok(took < 50, `${took} ms a window`);
      const pages = new Set(asked().map((r) => r.query.get('page')));
      assert.ok(pages.size <= 3, `asked for the pages ${[...pages]}`);
      assert.deepEqual(await chips(page), [String(count - 123)]);
    });
  }

  test('NothingScrollsSidewaysAt320AndEveryTargetIsLargeEnough', async () => {
    await shop({ gone: [3, 4] });
    const page = await enter({ width: 320 });
    await pick(page, 1, 2, 9);
    await inspect(page, 'the picker at 320 px');
    await shoot(page, 'picker-320');
    await page.emulateMedia({ colorScheme: 'dark' });
    await shoot(page, 'picker-320-dark');
    await page.getByLabel('Find a number').fill('A-501');
    await pause(400);
    await inspect(page, 'the picker at 320 px, with an error');
  });

  test('FarFromAnythingFreeOnePressLeadsThere', async () => {
    await shop({ item: kMillion });
    for (let n = 1; n <= 131_100; ++n) stub.items[0].gone.add(n);
    const page = await enter();
    assert.match(await text(page, '.pager'), /0 free/);
    await press(page, 'Go to the next free one');
    await page.locator('#window', { hasText: /· [1-9]\d* free/ }).waitFor();
    assert.equal(await stateOf(page, '131101'), 'free');
  });

  test('ItOpensWhereSomethingIsFree', async () => {
    await shop({ gone: Array.from({ length: 320 }, (_, i) => i + 1) });
    const page = await enter();
    await cell(page, 'A-321').waitFor();
    assert.equal(await stateOf(page, 'A-321'), 'free');
  });
});
