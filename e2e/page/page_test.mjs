// The page against a stand-in of the API whose trouble is scripted: what it sends, how often, and what it says.

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import {
  at,
  device,
  endDevices,
  eventually,
  heard,
  hide,
  launch,
  listen,
  pause,
  press,
  quit,
  screenOf,
  text,
  visit,
} from './browser.mjs';
import { Stub, tokenOf, trouble } from './stub.mjs';

let stub = null;
async function shop(options) {
  stub = await new Stub(options).listen();
  return stub;
}
const purchases = () => stub.asked('POST', /\/purchase$/);
const states = () => stub.asked('GET', /\/state$/);
const signedIn = (name = 'ana') => `${stub.url}/#token=${tokenOf(name)}`;

before(launch);
after(quit);
afterEach(async () => {
  await endDevices();
  await stub?.close();
  stub = null;
});

describe('finding and waiting', () => {
  test('OneSaleIsShownAtOnceAndSeveralAsAList', async () => {
    await shop();
    const page = await visit(await device(), stub.url);
    await at(page, 'O1');
    assert.match(await text(page), /Night Run 2026[\s\S]*€25\.00[\s\S]*5 units left/);

    stub.sales.push({ ...stub.sale, saleId: 'S2', title: 'Later', state: 'SCHEDULED', opensAt: stub.now() + 9e7 });
    await page.goto(stub.url);
    await at(page, 'list');
    await page.getByRole('link', { name: /Night Run/ }).click();
    await at(page, 'O1');
    assert.equal(new URL(page.url()).search, '?sale=S1');
  });

  test('AnUnknownSaleIsNamedAsOne', async () => {
    await shop();
    const page = await visit(await device(), `${stub.url}/?sale=none`);
    await at(page, 'nosale');
    assert.match(await text(page), /cannot find that sale/);
  });

  test('TheCountdownRunsOnTheServersClock', async () => {
    await shop({ opensIn: 300_000 });
    const right = await visit(await device(), stub.url);
    const fast = await visit(await device({ clockOff: 7 * 60_000, zone: 'Asia/Shanghai' }), stub.url);
    const seconds = async (page) => {
      await at(page, 'S2');
      await page.locator('.digits', { hasText: /^\d\d:\d\d$/ }).waitFor();
      const [minute, second] = (await text(page, '.digits')).split(':').map(Number);
      return minute * 60 + second;
    };
    await seconds(fast);
    const [a, b] = await Promise.all([seconds(right), seconds(fast)]);
    assert.ok(Math.abs(a - b) <= 1, `${a} and ${b}`);
    assert.ok(Math.abs(a - (stub.sale.opensAt - Date.now()) / 1000) <= 1.5);
    await fast.locator('#notices', { hasText: /clock is off by 7 minutes/ }).waitFor({ timeout: 10_000 });
    assert.equal(await text(right, '#notices'), '');
    assert.match(await text(fast), /\(Shanghai\)/);
  });

  test('NothingToBuyWithIsKnownBeforeTheOpening', async () => {
    await shop({ opensIn: 60_000 });
    const page = await visit(await device(), signedIn());
    await at(page, 'S2');
    await page.locator('.digits', { hasText: /^00:\d\d$/ }).waitFor();
    const button = page.locator('#buy');
    assert.equal(await button.getAttribute('aria-disabled'), 'true');
    assert.equal(await button.getAttribute('disabled'), null);
    await listen(page);
    await button.click({ force: true });
    await eventually('the time left is spoken', async () =>
      (await heard(page)).some((s) => /Not open yet. Opens in/.test(s)),
    );
    assert.equal(purchases().length, 0);
    const all = await page.evaluate(
      () => document.documentElement.outerHTML + JSON.stringify({ ...localStorage, ...sessionStorage }),
    );
    assert.ok(!all.includes('/purchase'));
  });

  test('APressInTheLastSecondIsSentOnceAtTheOpening', async () => {
    await shop({ opensIn: 2500 });
    const page = await visit(await device(), signedIn());
    await at(page, 'S2');
    await eventually('less than a second is left', () => stub.now() > stub.sale.opensAt - 600);
    await page.locator('#buy').focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    assert.match(await text(page, '#buy'), /Your press counts/);
    assert.equal(purchases().length, 0);
    await at(page, 'R1');
    assert.equal(purchases().length, 1);
    assert.ok(purchases()[0].at >= stub.sale.opensAt);
  });

  test('TheButtonThatWaitedKeepsTheFocusAtTheOpening', async () => {
    await shop({ opensIn: 2000 });
    const page = await visit(await device(), signedIn());
    await at(page, 'S2');
    await listen(page);
    await page.locator('#buy').focus();
    await at(page, 'O1');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'buy');
    await eventually('the opening is spoken', async () => (await heard(page)).includes('status: The sale is open.'));
  });

  test('AHiddenTabAsksNothingAndAsksOnceOnReturn', async () => {
    await shop();
    stub.pollAfterMs = 0;
    const page = await visit(await device(), stub.url, { frozen: true });
    await at(page, 'O1');
    await page.clock.runFor(3000);
    await hide(page, true);
    const before = states().length;
    await page.clock.runFor(60_000);
    assert.equal(states().length, before);
    await hide(page, false);
    await page.clock.runFor(100);
    await eventually('one question', () => states().length === before + 1);
  });

  test('PollingHeedsTheServersPace', async () => {
    await shop();
    stub.pollAfterMs = 25_000;
    const page = await visit(await device(), stub.url, { frozen: true });
    await at(page, 'O1');
    await page.clock.runFor(2000);
    const before = states().length;
    await page.clock.runFor(20_000);
    assert.equal(states().length, before);
    await page.clock.runFor(6000);
    await eventually('the next question', () => states().length === before + 1);
  });

  test('PausedAndEndedSayWhatHoldsGoOn', async () => {
    await shop();
    stub.paused = true;
    const page = await visit(await device(), stub.url);
    await at(page, 'O5');
    assert.match(await text(page), /Nobody loses a place or a reservation/);
    stub.sale.closesAt = stub.now() - 1000;
    await page.reload();
    await at(page, 'O6');
    assert.match(await text(page), /This sale ended on .* at .* \(Madrid\)/);
    assert.equal(await page.locator('#buy').isVisible(), false);
  });

  test('TextsOfTheShopStayText', async () => {
    await shop({ items: [{ itemId: 'I1', title: '<b id=bad>Bold</b>', price: { value: 1, currency: 'EUR' } }] });
    stub.sale.title = '<img src=x onerror=alert(1)> & Sons';
    const page = await visit(await device(), stub.url);
    await at(page, 'O1');
    assert.match(await text(page, 'h1'), /<img src=x onerror=alert\(1\)> & Sons/);
    assert.equal(await page.locator('main img, #bad').count(), 0);
  });

  test('ATokenInTheAddressIsTakenAndRemovedAtOnce', async () => {
    await shop();
    const page = await visit(await device(), signedIn('ana'));
    await at(page, 'O1');
    assert.equal(page.url(), `${stub.url}/`);
    assert.match(await text(page, '#account'), /Signed in as\s+ana/);
    await page.reload();
    await at(page, 'O1');
    assert.match(await text(page, '#account'), /Signed in as\s+ana/);
    assert.ok(
      states().every((r) => r.token === undefined),
      'the crowd-wide answer is asked for without a token',
    );
  });
});

describe('from press to receipt', () => {
  test('AGuestBuysPaysAndSeesTheSameAfterReloadAndInASecondTab', async () => {
    await shop();
    const phone = await device();
    const page = await visit(phone, stub.url);
    await at(page, 'O1');
    await press(page, 'Sign in as a guest');
    await page.locator('#account', { hasText: /guest-/ }).waitFor();
    await press(page, 'Buy now');
    await at(page, 'R1');
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'H1');
    assert.match(
      await text(page),
      /Reserved for you[\s\S]*Start place[\s\S]*€25\.00[\s\S]*Pay by \d\d:\d\d:\d\d \(Madrid\)/,
    );
    assert.match(purchases()[0].key, /^attempt-guest-/);
    assert.deepEqual(purchases()[0].body, {});

    const second = await visit(phone, stub.url);
    await at(second, 'R1');
    await press(page, 'Choose how to pay');
    await at(page, 'Y1');
    assert.deepEqual(stub.asked('POST', /\/payment$/)[0].body, { gateway: 'sandbox' });
    await press(page, 'Pay €25.00');
    await at(page, 'D1');
    await at(second, 'D1');
    assert.match(
      await text(page),
      /Paid\. It is yours\.[\s\S]*Night Run 2026[\s\S]*Order number[\s\S]*9f3a77c1[\s\S]*ORDER 9F3A-77C1/i,
    );
    await page.reload();
    await at(page, 'D1');
    assert.equal(purchases().length, 1);
    assert.match(await page.title(), /^Paid\. It is yours\. – Night Run 2026 – /);
  });

  test('BuyingNeedsNoPointer', async () => {
    await shop();
    const page = await visit(await device(), stub.url);
    await at(page, 'O1');
    const tabTo = async (name) => {
      for (let i = 0; i < 20; ++i) {
        await page.keyboard.press('Tab');
        const words = await page.evaluate(() => document.activeElement.innerText ?? '');
        if (words.includes(name)) return page.keyboard.press('Enter');
      }
      return assert.fail(`no way to ${name} by Tab`);
    };
    await tabTo('Sign in as a guest');
    await page.locator('#account', { hasText: /guest-/ }).waitFor();
    await tabTo('Buy now');
    await at(page, 'R1');
    await tabTo('Choose how to pay');
    await at(page, 'Y1');
    await tabTo('Pay €25.00');
    await at(page, 'D1');
  });

  test('B010_PressingTwiceOrInTwoTabsIsOneOrder', async () => {
    await shop();
    const phone = await device();
    const page = await visit(phone, signedIn());
    const second = await visit(phone, stub.url);
    await Promise.all([at(page, 'O1'), at(second, 'O1')]);
    const moment = Date.now() + 500;
    const pressTwice = (tab) =>
      tab.evaluate(async (ms) => {
        await new Promise((done) => setTimeout(done, ms - Date.now()));
        const button = document.getElementById('buy');
        button?.click();
        button?.click();
      }, moment);
    await Promise.all([pressTwice(page), pressTwice(second)]);
    await Promise.all([at(page, 'R1'), at(second, 'R1')]);
    assert.equal(stub.orders.length, 1);
    assert.equal(new Set(purchases().map((r) => r.key)).size, 1);
    assert.ok(purchases().length <= 2, 'one sending a tab');
  });

  test('WhileTheOrderIsNotRecordedThePageWaitsAndSlowsDown', async () => {
    await shop();
    stub.recordedAfter = 1e9;
    stub.retryAfter = 1;
    const page = await visit(await device(), signedIn(), { frozen: true });
    await at(page, 'O1');
    await listen(page);
    await page.locator('#buy').click();
    await page.clock.runFor(100);
    await at(page, 'P2');
    assert.match(await text(page), /We are reserving for you\. You have not been charged/);
    const asked = () => stub.asked('GET', /\/orders\//);
    for (let i = 0; i < 22; ++i) {
      await page.clock.runFor(500);
      await pause(20);
    }
    await at(page, 'P3');
    assert.match(await text(page), /This takes longer than usual/);
    assert.ok(asked().length >= 3 && asked().length <= 8, `${asked().length} questions in 11 s`);
    await eventually('slowness is spoken', async () => (await heard(page)).some((s) => /longer than usual/.test(s)));
    for (const order of stub.orders) order.seenAt = 0;
    for (let i = 0; i < 12; ++i) {
      await page.clock.runFor(500);
      await pause(20);
    }
    await at(page, 'R1');
  });

  test('A503IsTriedAgainWithTheSameKeyAndNeverSoldOut', async () => {
    await shop();
    stub.purchases = [trouble.unavailable, trouble.unavailable];
    const page = await visit(await device(), signedIn());
    await at(page, 'O1');
    await page.locator('#buy').click();
    await at(page, 'E4');
    assert.match(await text(page), /We keep trying; you need do nothing/);
    assert.doesNotMatch(await text(page), /sold out/i);
    await at(page, 'R1');
    assert.equal(purchases().length, 3);
    assert.equal(new Set(purchases().map((r) => r.key)).size, 1);
    const gaps = purchases()
      .map((r) => r.at)
      .map((ms, i, all) => ms - (all[i - 1] ?? ms))
      .slice(1);
    assert.ok(
      gaps.every((ms) => ms >= 990),
      `Retry-After is 1 s, the gaps were ${gaps}`,
    );
  });

  test('ALostAnswerIsAskedForBeforeAnythingIsSentAgain', async () => {
    await shop();
    stub.purchases = [trouble.lostAfter];
    const page = await visit(await device(), signedIn());
    await at(page, 'O1');
    await page.locator('#buy').click();
    await at(page, 'P4');
    assert.match(await text(page), /We do not know yet whether your request arrived\. We are checking\./);
    assert.doesNotMatch(await text(page), /fail|error/i);
    await at(page, 'R1');
    assert.equal(purchases().length, 1, 'the order was found, nothing was sent again');
    assert.equal(stub.orders.length, 1);
  });

  test('ALostRequestIsSentAgainWithTheSameKey', async () => {
    await shop();
    stub.purchases = [trouble.lostBefore, trouble.maybe];
    const page = await visit(await device(), signedIn());
    await at(page, 'O1');
    await page.locator('#buy').click();
    await at(page, 'P4');
    await at(page, 'R1');
    assert.equal(purchases().length, 2);
    assert.equal(new Set(purchases().map((r) => r.key)).size, 1);
    assert.equal(stub.orders.length, 1);
  });

  test('A429IsTriedOnceMoreThenTheButtonComesBack', async () => {
    await shop();
    stub.purchases = [trouble.busy, trouble.busy];
    const page = await visit(await device(), signedIn());
    await at(page, 'O1');
    await page.locator('#buy').click();
    await at(page, 'E3');
    assert.match(await text(page), /Too many requests from your connection/);
    await at(page, 'O1');
    assert.equal(purchases().length, 2);
    await page.locator('#buy').click();
    await at(page, 'R1');
  });

  test('AllReservedIsNotSoldOutAndTheButtonTurnsOnByItself', async () => {
    await shop({ units: 1 });
    stub.purchases = [
      (x) => {
        stub.addOrder('bob');
        trouble.allHeld(x);
      },
    ];
    stub.pollAfterMs = 0;
    const page = await visit(await device(), signedIn(), { frozen: true });
    await at(page, 'O1');
    await page.clock.runFor(1000);
    await page.locator('#buy').click();
    await at(page, 'O3');
    await page.clock.runFor(2000);
    await page.getByText(/Up to 1 may come back until \d\d:\d\d/).waitFor();
    assert.doesNotMatch(await text(page), /sold out/i);
    stub.orders[0].status = 'EXPIRED';
    await page.clock.runFor(26_000);
    await at(page, 'O1');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'buy');
  });

  test('SoldOutIsFinalAndEndsThePolling', async () => {
    await shop({ units: 1 });
    stub.purchases = [
      (x) => {
        stub.addOrder('bob', undefined, { status: 'PAID' });
        trouble.soldOut(x);
      },
    ];
    const page = await visit(await device(), signedIn(), { frozen: true });
    await at(page, 'O1');
    await page.clock.runFor(1000);
    await page.locator('#buy').click();
    await at(page, 'O4');
    assert.match(await text(page), /Sold out\. Everything has been paid for\./);
    await page.clock.runFor(3000);
    await pause(100);
    const before = states().length;
    await page.clock.runFor(300_000);
    assert.equal(states().length, before);
  });

  test('WhoHasBoughtIsShownHisOrder', async () => {
    await shop();
    const page = await visit(await device(), signedIn('ana'));
    await at(page, 'O1');
    stub.addOrder('ana', undefined, { status: 'PAID', paidAt: stub.now() });
    await page.locator('#buy').click();
    await at(page, 'X2');
    assert.match(await text(page), /You have already bought the limit in this sale \(1\)/);
    await press(page, 'See my order');
    await at(page, 'D1');
  });

  test('ARefusedPaymentKeepsTheReservation', async () => {
    await shop();
    const page = await visit(await device(), signedIn());
    await at(page, 'O1');
    await page.locator('#buy').click();
    await at(page, 'R1');
    await press(page, 'Choose how to pay');
    await at(page, 'Y1');
    await page.getByLabel('refuses the payment').check();
    await press(page, 'Pay €25.00');
    await at(page, 'Y4');
    assert.match(await text(page), /refused and not charged\. You can try again until/);
    await page.getByLabel('accepts the payment').check();
    await press(page, 'Pay €25.00');
    await at(page, 'D1');
  });

  test('TheTimeToPayIsSpokenAtMarksAndEndsOnlyWhenTheServerSaysSo', async () => {
    await shop();
    const order = stub.addOrder('ana');
    order.payBy = stub.now() + 305_000;
    const page = await visit(await device(), signedIn('ana'), { frozen: true });
    await at(page, 'R1');
    await page.clock.runFor(1000);
    await pause(200);
    await page.clock.runFor(1000);
    await listen(page);
    const run = async (seconds) => {
      stub.skew += seconds * 1000;
      for (let i = 0; i < seconds; ++i) await page.clock.runFor(1000);
      await pause(30);
    };
    for (let i = 0; i < 4; ++i) await run(50);
    await at(page, 'R2');
    await run(50);
    await run(60);
    assert.match(await text(page), /The time to pay is over\. We are checking/);
    assert.equal(await screenOf(page), 'R2', 'not expired before the server says so');
    order.status = 'EXPIRED';
    await run(10);
    await at(page, 'X1');
    assert.match(await text(page), /No payment has reached us/);
    const said = (await heard(page)).map((s) => s.replace(/ \d+ seconds?$/, ''));
    assert.deepEqual(
      said.filter((s) => /left to pay/.test(s)),
      [
        'status: 5 minutes left to pay',
        'alert: 2 minutes left to pay',
        'status: 1 minute left to pay',
        'status: 30 seconds left to pay',
      ],
    );
    assert.ok(said.length <= 7, said.join('\n'));
  });

  test('GivingBackAsksFirstAndEscKeeps', async () => {
    await shop();
    const page = await visit(await device(), signedIn());
    await at(page, 'O1');
    await page.locator('#buy').click();
    await at(page, 'R1');
    await press(page, 'Give it back');
    await page.getByRole('dialog', { name: 'Give it back?' }).waitFor();
    await page.keyboard.press('Escape');
    assert.equal(stub.orders[0].status, 'PENDING');
    assert.match(await page.evaluate(() => document.activeElement.innerText), /Give it back/);
    await press(page, 'Give it back');
    await page.getByRole('dialog').getByRole('button', { name: 'Give it back' }).click();
    await at(page, 'X3');
    assert.equal(stub.orders[0].status, 'CANCELLED');
    await press(page, 'Back to the sale');
    await at(page, 'O1');
    await page.locator('#buy').click();
    await at(page, 'R1');
    assert.notEqual(purchases()[1].key, purchases()[0].key, 'a new attempt has its own key');
  });

  test('ALimitAboveOneOffersAQuantity', async () => {
    await shop({ limit: 4 });
    const page = await visit(await device(), signedIn());
    await at(page, 'O1');
    for (let i = 0; i < 5; ++i) await press(page, 'One more');
    assert.match(await text(page), /€100\.00/);
    await page.locator('#buy').click();
    await at(page, 'R1');
    assert.deepEqual(purchases()[0].body, { quantity: 4 });
    assert.match(await text(page), /€100\.00/);
  });
});

describe('account and network', () => {
  test('AnEndedSessionIsSaidAndTheButtonComesBack', async () => {
    await shop();
    stub.purchases = [trouble.signedOut];
    const page = await visit(await device(), signedIn());
    await at(page, 'O1');
    await page.locator('#buy').click();
    await page.locator('#notices', { hasText: 'You were signed out. Sign in again; your choice is kept.' }).waitFor();
    await press(page, 'Sign in as a guest');
    await page.locator('#account', { hasText: /guest-/ }).waitFor();
    await page.locator('#buy').click();
    await at(page, 'R1');
  });

  test('WithoutGuestsThePageSaysWhereToSignIn', async () => {
    await shop();
    stub.guests = false;
    const page = await visit(await device(), stub.url);
    await at(page, 'O1');
    await page.locator('#buy').click();
    await page.locator('#notices', { hasText: 'Please sign in on the page of the shop' }).waitFor();
    assert.equal(await screenOf(page), 'O1');
    assert.equal(purchases().length, 0);
  });

  test('AShopOutOfReachIsNeverSoldOutAndThePageGoesOnByItself', async () => {
    await shop();
    stub.down = true;
    const page = await visit(await device(), stub.url);
    await page.locator('#notices', { hasText: 'We cannot reach the shop right now' }).waitFor();
    assert.equal(await screenOf(page), 'loading');
    stub.down = false;
    await at(page, 'O1');
    assert.equal(await text(page, '#notices'), '');
  });

  test('OfflineForAWhileEndsInOneOrder', async () => {
    await shop();
    const phone = await device();
    const page = await visit(phone, signedIn());
    await at(page, 'O1');
    await phone.setOffline(true);
    await page.locator('#buy').click();
    await at(page, 'P4');
    assert.match(await text(page, '#notices'), /You are offline\. Nothing is lost/);
    await pause(2500);
    await phone.setOffline(false);
    await at(page, 'R1');
    assert.equal(stub.orders.length, 1);
    assert.equal(await text(page, '#notices'), '');
  });

  test('AnotherDeviceShowsTheSameScreen', async () => {
    await shop();
    const page = await visit(await device(), signedIn('ana'));
    await at(page, 'O1');
    await page.locator('#buy').click();
    await at(page, 'R1');
    const desk = await visit(await device({ width: 1024 }), signedIn('ana'));
    await at(desk, 'R1');
    assert.match(await text(desk), /9F3A-77C1/i);
  });
});
