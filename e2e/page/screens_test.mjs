// Every screen of the page once: no accessibility findings on a phone in light and on a desk in dark colours, no
// sideways scroll at 320 px with text at 200 %, nothing that moves unasked, and pictures of it for the eye.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { at, device, endDevices, hide, inspect, launch, press, quit, shoot, visit } from './browser.mjs';
import { Stub, tokenOf, trouble } from './stub.mjs';

const kDay = 86_400_000;
const kItems = () => [
  { itemId: 'I1', title: 'Start place, 10 km', price: { value: 2500, currency: 'EUR' } },
  {
    itemId: 'I2',
    title: 'Start place, half marathon with a rather long name',
    price: { value: 123450, currency: 'EUR' },
    total: 3,
    sold: 3,
  },
  { itemId: 'I3', title: 'Start place, 5 km', price: { value: 1900, currency: 'EUR' }, total: 9, held: 9 },
];
const kRaffle = () => [
  {
    itemId: 'I1',
    title: 'Raffle ticket',
    price: { value: 2500, currency: 'EUR' },
    numbers: { first: 1, last: 1_000_000 },
  },
];
const kHall = () => [
  {
    itemId: 'I1',
    title: 'Seat in the small hall',
    price: { value: 2500, currency: 'EUR' },
    numbers: { first: 1, last: 86 },
    labels: 'A:40,B:46',
    labelOf: (n) => (n <= 40 ? `A-${n}` : `B-${n - 40}`),
  },
];
const kHallOrder = { quantity: 3, numbers: [7, 41, 42] };
const pick = async (page) => {
  await at(page, 'O1');
  const free = page.locator('.grid button.free');
  await free.first().waitFor();
  for (let i = 0; i < 3; ++i) await free.nth(4 * i).click();
};
const someGone = (stub) => {
  const { gone, numbers } = stub.items[0];
  for (let n = 3; n <= Math.min(5000, numbers.last); n += 1 + ((n * 7) % 5)) gone.add(n);
};
const twoTaken = (stub) => {
  someGone(stub);
  stub.purchases = [
    (x, take) => {
      for (const n of x.body.numbers.slice(0, 2)) stub.items[0].gone.add(n);
      const { status, body } = take();
      x.send(status, body);
    },
  ];
};
const buy = async (page) => {
  await at(page, 'O1');
  await page.locator('#buy').click();
};
const soldOut = (stub, change) => {
  Object.assign(stub.items[0], change);
};

/// Name, options of the shop, what is arranged before the page is opened, the way there, the screen.
const kScreens = [
  [
    'list',
    {},
    (s) => {
      s.sales.push({
        saleId: 'S2',
        title: 'Spring concert',
        state: 'SCHEDULED',
        opensAt: s.now() + 2 * kDay,
        closesAt: s.now() + 3 * kDay,
      });
      s.sales.push({
        saleId: 'S3',
        title: 'Winter raffle',
        state: 'CLOSED',
        opensAt: s.now() - 9 * kDay,
        closesAt: s.now() - 8 * kDay,
      });
    },
    null,
    'list',
  ],
  [
    'no-sale',
    {},
    (s) => {
      s.path = '/?sale=none';
    },
    null,
    'nosale',
  ],
  ['S1-announced', { opensIn: 3 * kDay, closesIn: 4 * kDay }, null, null, 'S1'],
  ['S2-countdown', { opensIn: 252_000 }, null, null, 'S2'],
  ['S2-clock-off', { opensIn: 252_000, skew: 420_000 }, null, null, 'S2'],
  ['O1-open', { units: 3412 }, null, null, 'O1'],
  ['O1-choice', { units: 3412, limit: 4, items: kItems }, null, null, 'O1'],
  ['O1-numbers', { limit: 5, items: kRaffle }, someGone, (page) => page.locator('.grid .free').first().waitFor(), 'O1'],
  ['O1-numbers-picked', { limit: 5, items: kRaffle }, someGone, pick, 'O1'],
  [
    'O1-numbers-taken',
    { limit: 5, items: kHall },
    twoTaken,
    async (page) => {
      await pick(page);
      await page.locator('#buy').click();
      await page.getByRole('alertdialog').waitFor();
    },
    'O1',
  ],
  [
    'O1-numbers-chosen-again',
    { limit: 5, items: kHall },
    twoTaken,
    async (page) => {
      await pick(page);
      await page.locator('#buy').click();
      await press(page, 'Choose again');
      await page.getByLabel('Find a number').fill('B-3');
      await page.locator('#found', { hasText: 'B-3' }).waitFor();
    },
    'O1',
  ],
  [
    'S2-numbers',
    { opensIn: 252_000, limit: 5, items: kRaffle },
    someGone,
    (page) => page.locator('.grid .free').first().waitFor(),
    'S2',
  ],
  ['R1-numbers', { limit: 5, items: kHall }, (s) => s.addOrder('ana', s.items[0], kHallOrder), null, 'R1'],
  [
    'D1-numbers',
    { limit: 3, items: kHall },
    (s) => s.addOrder('ana', s.items[0], { ...kHallOrder, status: 'PAID', paidAt: s.now() }),
    null,
    'D1',
  ],
  ['O3-all-held', { units: 4120 }, (s) => soldOut(s, { held: 4120 }), null, 'O3'],
  ['O4-sold-out', { units: 10 }, (s) => soldOut(s, { sold: 10 }), null, 'O4'],
  [
    'O5-paused',
    {},
    (s) => {
      s.paused = true;
    },
    null,
    'O5',
  ],
  ['O6-ended', { opensIn: -2 * kDay, closesIn: -kDay }, null, null, 'O6'],
  [
    'P1-sending',
    {},
    (s) => {
      s.purchases = [() => {}];
    },
    buy,
    'P1',
  ],
  [
    'P2-processing',
    {},
    (s) => {
      s.recordedAfter = 1e9;
    },
    buy,
    'P2',
  ],
  [
    'P4-unknown',
    {},
    (s) => {
      s.purchases = Array(8).fill(trouble.lostBefore);
    },
    buy,
    'P4',
  ],
  [
    'E3-busy',
    {},
    (s) => {
      s.purchases = [(x) => x.send(429, { error: 'TOO_MANY_REQUESTS' }, { 'Retry-After': '60' })];
    },
    buy,
    'E3',
  ],
  [
    'E4-unavailable',
    {},
    (s) => {
      s.purchases = [(x) => x.send(503, { error: 'UNAVAILABLE' }, { 'Retry-After': '60' })];
    },
    buy,
    'E4',
  ],
  [
    'E2-signed-out',
    {},
    (s) => {
      s.purchases = [trouble.signedOut];
    },
    async (page) => {
      await buy(page);
      await page.locator('#notices .notice').waitFor();
    },
    'O1',
  ],
  [
    'R1-reserved',
    {},
    (s) => s.addOrder('ana', undefined, { createdAt: s.now() - 130_000, payBy: s.now() + 470_000 }),
    null,
    'R1',
  ],
  [
    'R1-give-back',
    {},
    (s) => s.addOrder('ana'),
    async (page) => {
      await at(page, 'R1');
      await press(page, 'Give it back');
    },
    'R1',
  ],
  [
    'R2-last-minutes',
    {},
    (s) => s.addOrder('ana', undefined, { createdAt: s.now() - 505_000, payBy: s.now() + 95_000 }),
    null,
    'R2',
  ],
  [
    'Y1-pay',
    {},
    (s) => s.addOrder('ana'),
    async (page) => {
      await at(page, 'R1');
      await press(page, 'Choose how to pay');
    },
    'Y1',
  ],
  [
    'Y2-confirming',
    {},
    (s) => {
      s.addOrder('ana');
      s.confirmAfter = 1e9;
    },
    async (page) => {
      await at(page, 'R1');
      await press(page, 'Choose how to pay');
      await press(page, 'Pay €25.00');
    },
    'Y2',
  ],
  [
    'Y4-refused',
    {},
    (s) => s.addOrder('ana'),
    async (page) => {
      await at(page, 'R1');
      await press(page, 'Choose how to pay');
      await page.getByLabel('refuses the payment').check();
      await press(page, 'Pay €25.00');
    },
    'Y4',
  ],
  ['D1-paid', {}, (s) => s.addOrder('ana', undefined, { status: 'PAID', paidAt: s.now() }), null, 'D1'],
  [
    'X1-expired',
    {},
    (s) => s.addOrder('ana'),
    async (page, s) => {
      await at(page, 'R1');
      s.orders[0].status = 'EXPIRED';
      await hide(page, false);
    },
    'X1',
  ],
  [
    'X2-already',
    {},
    null,
    async (page, s) => {
      await at(page, 'O1');
      s.addOrder('ana', undefined, { status: 'PAID', paidAt: s.now() });
      await buy(page);
    },
    'X2',
  ],
  [
    'X3-given-back',
    {},
    (s) => s.addOrder('ana'),
    async (page) => {
      await at(page, 'R1');
      await press(page, 'Give it back');
      await page.getByRole('dialog').getByRole('button', { name: 'Give it back' }).click();
    },
    'X3',
  ],
  [
    'P5-not-reserved',
    {},
    (s) => s.addOrder('ana'),
    async (page, s) => {
      await at(page, 'R1');
      s.orders[0].status = 'REJECTED';
      await hide(page, false);
    },
    'P5',
  ],
  [
    'D4-refund',
    {},
    (s) => s.addOrder('ana'),
    async (page, s) => {
      await at(page, 'R1');
      Object.assign(s.orders[0], {
        status: 'EXPIRED',
        refund: { refundId: 'r', state: 'DUE', amount: { value: 2500, currency: 'EUR' } },
      });
      await hide(page, false);
    },
    'D4',
  ],
  [
    'out-of-reach',
    {},
    (s) => {
      s.down = true;
    },
    async (page) => {
      await page.locator('#notices .notice').waitFor();
    },
    'loading',
  ],
];

before(launch);
after(quit);

for (const [name, options, arrange, way, screen] of kScreens) {
  test(`Screen_${name}`, async () => {
    const stub = await new Stub({ ...options, items: options.items?.() }).listen();
    try {
      arrange?.(stub);
      const page = await visit(await device({ still: true }), `${stub.url}${stub.path ?? '/'}#token=${tokenOf('ana')}`);
      await way?.(page, stub);
      await at(page, screen);
      if (/^S/.test(screen)) await page.locator('.digits', { hasText: /^\d/ }).waitFor();
      await shoot(page, `${name}-360`);
      await inspect(page, `${name} on a phone, light`);

      await page.setViewportSize({ width: 1024, height: 800 });
      await shoot(page, `${name}-1024`);
      await page.emulateMedia({ colorScheme: 'dark' });
      await shoot(page, `${name}-1024-dark`);
      await inspect(page, `${name} on a desk, dark`);

      await page.setViewportSize({ width: 320, height: 700 });
      const found = await page.evaluate(() => {
        document.documentElement.style.fontSize = '200%';
        const { scrollWidth, clientWidth } = document.documentElement;
        return { sideways: scrollWidth - clientWidth, moving: document.getAnimations().length };
      });
      assert.deepEqual(found, { sideways: 0, moving: 0 }, `${name}: text at 200 %, and motion was asked to be reduced`);
      await endDevices();
    } finally {
      await stub.close();
    }
  });
}
