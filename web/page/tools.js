// The machinery under the screens: requests, storage, the server's clock, speech and polling.

// ---- Bounds and small tools. ----

const kTimeoutMs = 8_000; // An answer later than this is a lost one.
export const kBackoffMs = [1_000, 2_000, 4_000, 8_000, 8_000];
export const kUnitsPerClaimMax = 1_000; // The server refuses a claim for more.
export const kClaimRoundsMax = 8; // Times that one press is sent, all with the same key.
export const kOpeningAsksMax = 20; // Questions in a row for the address of a sale that opens.
export const kArmMs = 1_000; // A press this close to the opening is remembered.
export const kPollFailedMaxMs = 30_000;
export const kRefusalMs = 1_500; // For so long after a refusal the state that the crowd sees may still say otherwise.
export const kSlowMs = 10_000;
export const kRecordingMs = 60_000; // For so long after a 202 an unknown order counts as being recorded.
const kSpeechGapMs = 4_000;
export const kWarnMs = 120_000;

export const at = (text) => Date.parse(text);
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));
export const byId = (id) => document.getElementById(id);
export const randomKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
export const shortCode = (orderId) => `${orderId.slice(0, 4)}-${orderId.slice(4, 8)}`.toUpperCase();

export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null && child !== false));
  return node;
}
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
export function setAttribute(node, name, value) {
  if (value == null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

// The two things that the machinery tells the page: something changed, and whether the shop can be reached.
export const hooks = { show() {}, reached() {} };
export const show = () => hooks.show();

// What outlives a reload: for every tab, or for this one. A browser that forbids storage still works, for one page.
function storeIn(place) {
  const memory = new Map();
  return {
    get(name) {
      try {
        return place().getItem(`weir.${name}`);
      } catch {
        return memory.get(name) ?? null;
      }
    },
    set(name, value) {
      memory.set(name, value);
      try {
        value == null ? place().removeItem(`weir.${name}`) : place().setItem(`weir.${name}`, value);
      } catch {
        /* memory has it */
      }
    },
  };
}
export const store = storeIn(() => localStorage);
export const tabStore = storeIn(() => sessionStorage);

// One request. Never throws: status 0 is an answer that did not come, and the thing may have happened. What is asked
// for as `bytes` may come from the browser's cache while it is fresh, and is asked for by its tag when it is not.
export async function call(method, path, { body, key, token, bytes } = {}) {
  const headers = bytes ? { Accept: 'application/octet-stream' } : {};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (key) headers['Idempotency-Key'] = key;
  if (token) headers.Authorization = `Bearer ${token}`;
  try {
    const answer = await fetch(path, {
      method,
      headers,
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(kTimeoutMs),
      cache: bytes ? 'default' : 'no-cache',
      redirect: 'error',
    });
    const raw = bytes && answer.ok ? new Uint8Array(await answer.arrayBuffer()) : null;
    const text = raw ? '' : await answer.text();
    hooks.reached(true);
    return {
      status: answer.status,
      headers: answer.headers,
      body: raw ?? (text ? JSON.parse(text) : {}),
      retryAfterMs: 1000 * (Number(answer.headers.get('Retry-After')) || 0),
    };
  } catch (trouble) {
    if (!(trouble instanceof SyntaxError)) hooks.reached(false);
    return { status: 0, body: {}, retryAfterMs: 0 };
  }
}

// ---- The server's clock. ----

export const clock = {
  quality: 'none', // none, coarse (from a header, a second or two wrong), fine (measured).
  target: 0,
  shown: 0,
  turnedAt: 0,
  sampling: false,
  wall: Date.now() - performance.now(),

  // A small correction is slewed at a tenth of real time, so that digits never jump back; a large one jumps.
  now() {
    const ticks = performance.now();
    const gap = this.target - this.shown;
    const step = (ticks - this.turnedAt) / 10;
    this.turnedAt = ticks;
    this.shown += Math.abs(gap) >= 2000 ? gap : Math.max(-step, Math.min(step, gap));
    return ticks + this.shown;
  },
  set(quality, target) {
    if (this.quality !== 'fine') this.shown = target;
    this.target = target;
    this.quality = quality;
  },
  setCoarse(headers) {
    const date = at(headers.get('Date'));
    if (this.quality === 'fine' || Number.isNaN(date)) return;
    this.set('coarse', date + 500 + 1000 * (Number(headers.get('Age')) || 0) - performance.now());
  },
  // Three questions, the fastest answer counts: its error is at most half its round trip.
  async sample() {
    if (this.sampling) return;
    this.sampling = true;
    this.wall = Date.now() - performance.now();
    let best = null;
    for (let i = 0; i < 3; ++i) {
      if (i > 0) await pause(200);
      const sent = performance.now();
      const answer = await call('GET', '/api/time');
      const trip = performance.now() - sent;
      const now = at(answer.body.now);
      if (answer.status !== 200 || Number.isNaN(now) || trip > 2000) continue;
      if (!best || trip < best.trip) best = { trip, target: now + trip / 2 - (sent + trip) };
    }
    if (best) this.set('fine', best.target);
    this.sampling = false;
    show();
  },
  // The tick counter may stop while a device sleeps; the wall clock does not.
  check() {
    if (Math.abs(Date.now() - performance.now() - this.wall) > 1000) this.sample();
  },
};

// ---- Speech: marks and changes of state, one sentence at a time, never a running countdown. ----

export const speech = {
  last: '',
  at: -Infinity,
  waiting: null,
  timer: 0,
  say(text, urgent = false) {
    if (!text || (text === this.last && performance.now() - this.at < 15_000)) return;
    if (this.waiting?.urgent && !urgent) return;
    this.waiting = { text, urgent };
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), Math.max(50, this.at + kSpeechGapMs - performance.now()));
  },
  flush() {
    const { text, urgent } = this.waiting;
    this.waiting = null;
    this.last = text;
    this.at = performance.now();
    byId(urgent ? 'status' : 'alert').textContent = '';
    byId(urgent ? 'alert' : 'status').textContent = text;
  },
};

// Calls `say` with each mark that the remaining time passes; a page that comes later does not catch up.
export class Marks {
  #before = null;
  constructor(marks, say) {
    this.marks = marks;
    this.say = say;
  }
  pass(left) {
    const mark = this.marks.filter((m) => this.#before !== null && this.#before > m && left <= m).pop();
    this.#before = left;
    if (mark !== undefined && left > 0) this.say(mark);
  }
}

// ---- Polling: never faster than asked, spread by chance, silent in a hidden tab. ----

export class Poller {
  #timer = 0;
  #failures = 0;
  #busy = false;
  constructor(ask, gapMs) {
    this.ask = ask;
    this.gapMs = gapMs;
  }
  plan(retryAfterMs = 0) {
    clearTimeout(this.#timer);
    const gap = this.gapMs();
    if (gap === null || document.hidden) return;
    const base = this.#failures
      ? Math.max(gap, Math.min(kPollFailedMaxMs, Math.max(gap, 1000) * 2 ** this.#failures))
      : gap;
    this.#timer = setTimeout(
      () => document.hidden || this.now(),
      Math.max(base, retryAfterMs) * (1 + Math.random() / 4),
    );
  }
  async now() {
    clearTimeout(this.#timer);
    if (this.#busy) return;
    this.#busy = true;
    const answer = await this.ask();
    this.#busy = false;
    this.#failures = answer.status > 0 && answer.status < 500 ? 0 : Math.min(this.#failures + 1, 6);
    this.plan(answer.retryAfterMs);
  }
}
