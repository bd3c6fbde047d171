// The browser of the page tests, and the few words in which they are written.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { chromium } from 'playwright-core';

const kTags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
export const screenshots =
  process.env.WEIR_SCREENSHOTS ?? new URL('../../build/page/screenshots', import.meta.url).pathname;

let browser = null;
const open = new Set();

export async function launch() {
  mkdirSync(screenshots, { recursive: true });
  browser = await chromium.launch({
    executablePath: process.env.WEIR_CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
/// Closes the browser. What still holds this process five seconds later (a socket that nobody closed) does not keep it.
export async function quit() {
  setTimeout(() => process.exit(), 5000).unref();
  await browser?.close();
}

/// A device: its own storage. `chance` is what Math.random gives, so that waits spread by chance are known.
export async function device({
  width = 360,
  dark = false,
  zone = 'Europe/Madrid',
  chance = 0,
  clockOff = 0,
  still = false,
} = {}) {
  const context = await browser.newContext({
    viewport: { width, height: width < 600 ? 740 : 800 },
    colorScheme: dark ? 'dark' : 'light',
    timezoneId: zone,
    locale: 'en-GB',
    reducedMotion: still ? 'reduce' : 'no-preference',
  });
  await context.addInitScript(
    ([random, off]) => {
      Math.random = () => random;
      const now = Date.now.bind(Date);
      Date.now = () => now() + off;
    },
    [chance, clockOff],
  );
  context.faults = [];
  open.add(context);
  return context;
}

export async function visit(context, url, { frozen = false } = {}) {
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on('pageerror', (error) => context.faults.push(String(error)));
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) context.faults.push(message.text());
  });
  if (frozen) await page.clock.install();
  await page.goto(url);
  return page;
}

/// Ends all devices of a test; scripts that failed or broke the content policy fail it.
export async function endDevices() {
  const faults = [...open].flatMap((context) => context.faults);
  await Promise.all([...open].map((context) => context.close()));
  open.clear();
  assert.deepEqual(faults, []);
}

export const at = (page, screen) => page.locator(`body[data-screen="${screen}"]`).waitFor({ state: 'attached' });
export const screenOf = (page) => page.evaluate(() => document.body.dataset.screen);
export const text = (page, selector = 'main') => page.locator(selector).innerText();
export const press = (page, name) => page.getByRole('button', { name }).click();
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/// Waits until `check` holds; the wait is bounded and a failure says what was expected.
export async function eventually(what, check, ms = 8000) {
  const end = Date.now() + ms;
  while (!(await check())) {
    assert.ok(Date.now() < end, `within ${ms} ms: ${what}`);
    await pause(25);
  }
}

/// All that was put into the live regions, in order.
export async function listen(page) {
  await page.evaluate(() => {
    window.heard = [];
    for (const id of ['status', 'alert']) {
      new MutationObserver(() => {
        const words = document.getElementById(id).textContent;
        if (words) window.heard.push(`${id}: ${words}`);
      }).observe(document.getElementById(id), { childList: true, characterData: true, subtree: true });
    }
  });
}
export const heard = (page) => page.evaluate(() => window.heard);

/// The tab goes to the background or comes back, as far as a page can tell.
export const hide = (page, hidden) =>
  page.evaluate((yes) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => yes });
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (yes ? 'hidden' : 'visible') });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);

/// No accessibility findings, nothing wider than the window, targets of 44 px.
export async function inspect(page, name) {
  const { violations } = await new AxeBuilder({ page }).withTags(kTags).analyze();
  assert.deepEqual(
    violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target).join(' ')}`),
    [],
    `${name}: axe`,
  );
  const found = await page.evaluate(() => {
    const small = [...document.querySelectorAll('button, a[href]:not(.skip), label.choice')]
      .map((node) => [node, node.getBoundingClientRect()])
      .filter(([node, box]) => box.width > 0 && (box.height < 44 || box.width < 44))
      .map(([node]) => node.outerHTML.slice(0, 80));
    return { wide: document.documentElement.scrollWidth - document.documentElement.clientWidth, small };
  });
  assert.deepEqual(found, { wide: 0, small: [] }, `${name}: sizes`);
}
export const shoot = (page, name) => page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
