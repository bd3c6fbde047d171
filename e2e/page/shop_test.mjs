// The page against the real program: a sale is made on the command line, opens, is bought, paid for and sold out.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, afterEach, before, test } from 'node:test';
import { at, device, endDevices, inspect, launch, press, quit, shoot, text, visit } from './browser.mjs';

const binary = process.env.WEIR_BINARY;
// The program refuses names that are no settings of its own, and the tests' names are none.
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('WEIR_')));
const kStartMs = 20_000;
let data = null;
let server = null;

const weir = (...words) => execFileSync(binary, [...words, '--data', data], { env, encoding: 'utf8', timeout: 30_000 });

/// Starts the program on ports of its own choice and gives back the address of the page.
function serve() {
  server = spawn(binary, ['serve', '--data', data, '--http.listen', '127.0.0.1:0', '--ops.listen', '127.0.0.1:0'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((done, failed) => {
    const late = setTimeout(() => failed(new Error(`no port within ${kStartMs} ms`)), kStartMs);
    server.once('exit', (code) => failed(new Error(`the server ended at its start with ${code}`)));
    createInterface({ input: server.stdout }).on('line', (line) => {
      const port = line.match(/serves on port (\d+)/)?.[1];
      if (!port) return;
      clearTimeout(late);
      done(`http://127.0.0.1:${port}`);
    });
  });
}

async function stop() {
  if (!server || server.exitCode !== null) return;
  const ended = new Promise((done) => server.once('exit', done));
  server.kill('SIGTERM');
  const late = setTimeout(() => server.kill('SIGKILL'), 10_000);
  await ended;
  clearTimeout(late);
}

const signInAsGuest = async (page) => {
  await press(page, 'Sign in as a guest');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
};

before(async () => {
  assert.ok(binary, 'WEIR_BINARY names the program under test');
  await launch();
});
after(quit);
afterEach(async () => {
  await endDevices();
  await stop();
  if (data) rmSync(data, { recursive: true, force: true });
  data = null;
});

test('AGuestBuysTheLastUnitInTheBrowserAndTheNextOneSeesSoldOut', async () => {
  data = mkdtempSync(join(tmpdir(), 'weir-page-'));
  weir('sale', 'create', '--id', 'S1', '--title', 'Night Run 2026', '--opens-at', '+8s', '--closes-at', '+2h');
  weir(
    'item',
    'add',
    '--sale',
    'S1',
    '--id',
    'I1',
    '--title',
    'Start place',
    '--price',
    '1999',
    '--currency',
    'EUR',
    '--units',
    '1',
  );
  const url = await serve();

  const phone = await device();
  const page = await visit(phone, url);
  await at(page, 'S2');
  await signInAsGuest(page);
  await shoot(page, 'shop-1-countdown');
  await at(page, 'O1');
  assert.match(await text(page), /Night Run 2026[\s\S]*€19\.99[\s\S]*Start place/);
  await inspect(page, 'the real page, open');
  await shoot(page, 'shop-2-open');

  const other = await visit(await device({ width: 1024 }), url);
  await at(other, 'O1');
  await signInAsGuest(other);

  await page.locator('#buy').click();
  await at(page, 'R1');
  await shoot(page, 'shop-3-reserved');
  await other.locator('#buy').click();
  await at(other, 'O3');
  assert.doesNotMatch(await text(other), /sold out/i, 'an unpaid order may come back');
  await shoot(other, 'shop-4-all-reserved');

  await press(page, 'Choose how to pay');
  await at(page, 'Y1');
  await page.getByLabel('refuses the payment').check();
  await press(page, /^Pay €19\.99/);
  await at(page, 'Y4');
  await page.getByLabel('accepts the payment').check();
  await press(page, /^Pay €19\.99/);
  await at(page, 'D1');
  assert.match(await text(page), /Paid\. It is yours\.[\s\S]*€19\.99[\s\S]*Order number\s+[0-9a-f]{32}/);
  await shoot(page, 'shop-5-paid');

  await page.reload();
  await at(page, 'D1');
  const second = await visit(phone, url);
  await at(second, 'D1');

  await other.reload();
  await at(other, 'O4');
  assert.match(await text(other), /Sold out\. Everything has been paid for\./);
  await shoot(other, 'shop-6-sold-out');
});

test('WhatWasBoughtIsStillThereAfterTheServerStartedAgain', async () => {
  data = mkdtempSync(join(tmpdir(), 'weir-page-'));
  weir(
    'sale',
    'create',
    '--id',
    'S1',
    '--title',
    'Night Run 2026',
    '--opens-at',
    'now',
    '--closes-at',
    '+2h',
    '--limit-per-buyer',
    '3',
  );
  weir(
    'item',
    'add',
    '--sale',
    'S1',
    '--id',
    'I1',
    '--title',
    'Start place',
    '--price',
    '1999',
    '--currency',
    'EUR',
    '--units',
    '5',
  );
  const first = await serve();
  const page = await visit(await device(), first);
  await at(page, 'O1');
  await signInAsGuest(page);
  await press(page, 'One more');
  await page.locator('#buy').click();
  await at(page, 'R1');
  assert.match(await text(page), /€39\.98/);
  const token = await page.evaluate(() => localStorage.getItem('weir.token'));

  await stop();
  const again = await visit(await device({ width: 1024 }), `${await serve()}/#token=${token}`);
  await at(again, 'R1');
  assert.match(await text(again), /€39\.98/);
  await press(again, 'Give it back');
  await again.getByRole('dialog').getByRole('button', { name: 'Give it back' }).click();
  await at(again, 'X3');
  await press(again, 'Back to the sale');
  await at(again, 'O1');
  await shoot(again, 'shop-7-given-back');
});
