// A stand-in for the API: one shop in memory whose trouble a test scripts. It also serves the files of the page, under
// the same content policy as the real server.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const kPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const kTypes = { html: 'text/html; charset=utf-8', css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' };
const pageDir = process.env.WEIR_PAGE_DIR ?? new URL('../../web/page', import.meta.url).pathname;

export const tokenOf = (sub) => `e30.${Buffer.from(JSON.stringify({ sub })).toString('base64url')}.sig`;
const subOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url')).sub;
const iso = (ms) => new Date(ms).toISOString();
const kPageNumbers = 65_536;
const hex = (n) => `9f3a77c1${n.toString(16).padStart(24, '0')}`;

export class Stub {
  /// `opensIn` and `closesIn` are milliseconds from now on the stub's clock, which runs `skew` beside the device's.
  constructor({
    opensIn = -1000,
    closesIn = 3_600_000,
    units = 5,
    limit = 1,
    skew = 0,
    payWithin = 600_000,
    items,
  } = {}) {
    this.skew = skew;
    this.sale = {
      saleId: 'S1',
      title: 'Night Run 2026',
      opensAt: this.now() + opensIn,
      closesAt: this.now() + closesIn,
      limit,
    };
    this.items = items ?? [{ itemId: 'I1', title: 'Start place', price: { value: 2500, currency: 'EUR' } }];
    for (const item of this.items) {
      if (item.numbers) Object.assign(item, { total: item.numbers.last - item.numbers.first + 1, gone: new Set() });
      item.total ??= units;
    }
    this.payWithin = payWithin;
    this.sales = [this.sale];
    this.paused = false;
    this.guests = true;
    this.down = false;
    this.purchases = []; // What the next purchases do: a function (exchange) or a word of `trouble`.
    this.recordedAfter = 0; // Milliseconds from a 202 until the order can be seen.
    this.confirmAfter = 50; // Milliseconds from a payment to PAID.
    this.numbersAfter = 0; // Milliseconds from a question for numbers until they are read.
    this.retryAfter = 0;
    this.pollAfterMs = 1000;
    this.orders = [];
    this.payments = new Map();
    this.log = [];
    this.version = 0;
  }
  now() {
    return Date.now() + this.skew;
  }
  async listen() {
    this.server = createServer((request, response) => this.#serve(request, response));
    await new Promise((done) => this.server.listen(0, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }
  close() {
    this.server.closeAllConnections();
    return new Promise((done) => this.server.close(done));
  }
  asked(method, pattern) {
    return this.log.filter((r) => r.method === method && pattern.test(r.path));
  }
  phase() {
    const now = this.now();
    if (now >= this.sale.closesAt) return 'CLOSED';
    if (now < this.sale.opensAt) return 'SCHEDULED';
    return this.paused ? 'PAUSED' : 'OPEN';
  }
  counts(item) {
    const of = (status) =>
      this.orders.filter((o) => o.itemId === item.itemId && o.status === status).reduce((n, o) => n + o.quantity, 0);
    const held = of('PENDING') + (item.held ?? 0);
    const sold = of('PAID') + (item.sold ?? 0) + (item.gone?.size ?? 0);
    const free = item.total - held - sold;
    const returns = Math.max(
      ...this.orders.filter((o) => o.status === 'PENDING').map((o) => o.payBy),
      this.now() + 600_000,
    );
    return {
      total: item.total,
      free,
      held,
      sold,
      state: free > 0 ? 'AVAILABLE' : held > 0 ? 'ALL_HELD' : 'SOLD_OUT',
      returnsUntil: iso(returns),
    };
  }
  /// An order as if it was bought elsewhere.
  addOrder(buyer, item = this.items[0], change = {}) {
    const order = {
      orderId: hex(this.orders.length + 1),
      saleId: this.sale.saleId,
      itemId: item.itemId,
      quantity: 1,
      buyer,
      status: 'PENDING',
      amount: item.price,
      createdAt: this.now(),
      payBy: this.now() + this.payWithin,
      seenAt: this.now() + this.recordedAfter,
      ...change,
    };
    order.amount = { ...item.price, value: item.price.value * order.quantity };
    this.orders.push(order);
    return order;
  }
  /// Whether a number of a numbered item can be had; `item.gone` are those that were sold elsewhere.
  isFree(item, number) {
    const { first, last } = item.numbers;
    const isHeld = this.orders.some(
      (o) => o.itemId === item.itemId && ['PENDING', 'PAID'].includes(o.status) && o.numbers?.includes(number),
    );
    return number >= first && number <= last && !item.gone.has(number) && !isHeld;
  }
  /// The numbers of a wish that can be had, and those that cannot; null if the wish is none for this item.
  #choose(item, { numbers, random, quantity, partial }) {
    if (!item.numbers) return numbers || random || partial ? null : { numbers: undefined, taken: [] };
    if (quantity || (numbers && random)) return null;
    if (numbers) {
      const isLawful = numbers.every((n) => n >= item.numbers.first && n <= item.numbers.last);
      if (!isLawful || numbers.length === 0 || new Set(numbers).size < numbers.length) return null;
      const [free, taken] = [true, false].map((is) => numbers.filter((n) => this.isFree(item, n) === is));
      return { numbers: free.sort((a, b) => a - b), taken: taken.sort((a, b) => a - b) };
    }
    const found = [];
    for (let n = item.numbers.first; n <= item.numbers.last && found.length < (random ?? 1); ++n)
      if (this.isFree(item, n)) found.push(n);
    return { numbers: found, taken: [] };
  }
  /// The newest order of a buyer decides his attempt: it changes only when that order has ended.
  attemptOf(buyer) {
    const ended = this.orders.filter((o) => o.buyer === buyer && o.status !== 'PENDING').length;
    return `attempt-${buyer}-${ended}`;
  }

  #view(order) {
    const { orderId, saleId, itemId, quantity, numbers, status, amount, reason, refund } = order;
    const item = this.items.find((i) => i.itemId === itemId);
    return {
      orderId,
      saleId,
      itemId,
      quantity,
      numbers,
      labels: item.labels && item.labelOf ? numbers?.map(item.labelOf) : undefined,
      status,
      amount,
      reason,
      refund,
      createdAt: iso(order.createdAt),
      payBy: iso(order.payBy),
      paidAt: order.paidAt && iso(order.paidAt),
    };
  }
  #serve(request, response) {
    let text = '';
    request.on('data', (piece) => {
      text += piece;
    });
    request.on('end', () => {
      const path = request.url.split('?')[0];
      const token = request.headers.authorization?.replace('Bearer ', '');
      const exchange = {
        method: request.method,
        path,
        key: request.headers['idempotency-key'],
        token,
        buyer: token && subOf(token),
        body: text ? JSON.parse(text) : {},
        at: Date.now(),
        query: new URLSearchParams(request.url.split('?')[1]),
        headers: request.headers,
        // In the middle of the answer: a browser sends again by itself what got none at all on a used connection.
        drop: () => {
          response.writeHead(200, { 'Content-Length': '100' });
          response.write('{', () => request.socket.destroy());
        },
        send: (status, body, headers = {}) => {
          response.writeHead(status, {
            'Content-Type': 'application/json',
            'Cache-Control': 'no-store',
            Date: new Date(this.now()).toUTCString(),
            ...headers,
          });
          response.end(body instanceof Uint8Array ? body : JSON.stringify(body));
        },
      };
      if (path.startsWith('/api/')) this.log.push(exchange);
      if (this.down && path.startsWith('/api/')) return exchange.drop();
      if (path.startsWith('/api/')) return this.#api(exchange);
      this.#file(path, response);
    });
  }
  #file(path, response) {
    const name = path === '/' ? 'index.html' : path.slice(1);
    try {
      const bytes = readFileSync(join(pageDir, name.replaceAll('/', '')));
      response.writeHead(200, {
        'Content-Type': kTypes[name.split('.').pop()],
        'Content-Security-Policy': kPolicy,
        'X-Content-Type-Options': 'nosniff',
      });
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  }
  #api(x) {
    const order = this.orders.find((o) => x.path.includes(`/orders/${o.orderId}`) && o.buyer === x.buyer);
    const sale = this.sales.find((s) => x.path.startsWith(`/api/flash-sales/${s.saleId}`));
    if (x.path === '/api/time') return x.send(200, { now: iso(this.now()) });
    if (x.path === '/api/auth/guest') {
      if (!this.guests) return x.send(404, { error: 'NOT_FOUND' });
      return x.send(200, { token: tokenOf(`guest-${this.log.length}`), expiresAt: iso(this.now() + 3_600_000) });
    }
    if (x.path === '/api/flash-sales') {
      return x.send(200, {
        sales: this.sales.map((s) => ({
          saleId: s.saleId,
          title: s.title,
          state: s.state ?? this.phase(),
          opensAt: iso(s.opensAt),
          closesAt: iso(s.closesAt),
        })),
      });
    }
    if (x.path.includes('/payments/sandbox/')) return this.#complete(x);
    if (x.path.includes('/orders/')) return this.#order(x, order);
    if (x.path.endsWith('/purchase')) return this.#purchase(x);
    if (x.path.endsWith('/numbers')) return setTimeout(() => this.#numbers(x), this.numbersAfter);
    const item = this.items.find((i) => x.path === `/api/flash-sales/items/${i.itemId}`);
    if (item) return x.send(200, { ...this.#itemView(item), ...this.counts(item), asOf: iso(this.now()) });
    if (!sale) return x.send(404, { error: 'UNKNOWN_SALE' });
    if (x.path.endsWith('/state')) return this.#state(x);
    if (x.path.endsWith('/me')) return this.#me(x);
    return x.send(200, {
      ...sale,
      opensAt: iso(sale.opensAt),
      closesAt: iso(sale.closesAt),
      state: this.phase(),
      limitPerBuyer: sale.limit,
      items: this.items.map((item) => this.#itemView(item)),
    });
  }
  #itemView({ itemId, title, price, total, numbers, labels }) {
    return { itemId, title, price, total, numbers, labels };
  }
  /// One page of availability, as bits or as JSON with the bits in base64.
  #numbers(x) {
    const item = this.items.find((i) => x.path.includes(`/items/${i.itemId}/`));
    const page = Number(x.query.get('page') ?? 0);
    if (!item?.numbers || !(page >= 0) || page * kPageNumbers >= item.total)
      return x.send(400, { error: 'INVALID_REQUEST', field: 'page' });
    const first = item.numbers.first + page * kPageNumbers;
    const count = Math.min(kPageNumbers, item.numbers.last - first + 1);
    const bits = Buffer.alloc(Math.ceil(count / 8), 0xff);
    const clear = (at) => {
      bits[at >> 3] &= ~(0x80 >> (at & 7));
    };
    for (let at = count; at < bits.length * 8; ++at) clear(at);
    const held = this.orders.filter((o) => o.itemId === item.itemId && ['PENDING', 'PAID'].includes(o.status));
    for (const n of [...item.gone, ...held.flatMap((o) => o.numbers ?? [])])
      if (n >= first && n < first + count) clear(n - first);
    const wantsJson = x.headers.accept?.includes('application/json');
    const tag = `"${createHash('sha256').update(bits).digest('hex').slice(0, 16)}${wantsJson ? 'j' : 'b'}"`;
    const shared = { 'Cache-Control': 'public, max-age=1', ETag: tag };
    if (x.headers['if-none-match'] === tag) return x.send(304, new Uint8Array(), shared);
    const free = bits.reduce((n, byte) => n + byte.toString(2).replaceAll('0', '').length, 0);
    const asOf = iso(this.now());
    if (wantsJson) return x.send(200, { first, count, free, bits: bits.toString('base64'), asOf }, shared);
    x.send(200, bits, {
      ...shared,
      'Content-Type': 'application/octet-stream',
      'X-First-Number': String(first),
      'X-Count': String(count),
      'X-As-Of': asOf,
      Vary: 'Accept',
    });
  }
  #url(item) {
    return `/api/flash-sales/items/${item.itemId}/purchase?k=secret`;
  }
  #state(x) {
    const open = this.phase() === 'OPEN';
    x.send(
      200,
      {
        version: ++this.version,
        asOf: iso(this.now()),
        phase: this.phase(),
        opensAt: iso(this.sale.opensAt),
        closesAt: iso(this.sale.closesAt),
        purchaseUrls: open ? Object.fromEntries(this.items.map((item) => [item.itemId, this.#url(item)])) : undefined,
        stock: Object.fromEntries(this.items.map((item) => [item.itemId, this.counts(item)])),
        pollAfterMs: this.pollAfterMs,
      },
      { 'Cache-Control': 'public, max-age=1' },
    );
  }
  #me(x) {
    if (!x.buyer) return x.send(401, { error: 'UNAUTHENTICATED' });
    const orders = this.orders.filter((o) => o.buyer === x.buyer && o.seenAt <= this.now()).reverse();
    const bought = orders.filter((o) => ['PENDING', 'PAID'].includes(o.status)).reduce((n, o) => n + o.quantity, 0);
    x.send(200, {
      attemptId: this.attemptOf(x.buyer),
      bought,
      limit: this.sale.limit,
      orders: orders.map((o) => this.#view(o)),
    });
  }
  #purchase(x) {
    const trouble = this.purchases.shift();
    if (trouble) return trouble(x, () => this.take(x));
    const { status, body, headers } = this.take(x);
    x.send(status, body, headers);
  }
  /// What a purchase does and answers without trouble.
  take(x) {
    if (!x.buyer) return { status: 401, body: { error: 'UNAUTHENTICATED' } };
    const item = this.items.find((i) => x.path.includes(`/items/${i.itemId}/`));
    const same = this.orders.find((o) => o.key === `${x.buyer} ${x.key}`);
    const mine = this.orders.filter((o) => o.buyer === x.buyer && ['PENDING', 'PAID'].includes(o.status));
    if (!same && this.phase() !== 'OPEN') return { status: 403, body: { error: 'NOT_OPEN' } };
    if (!same && mine.length && this.sale.limit === 1)
      return { status: 409, body: { error: 'ALREADY_PURCHASED', orderId: mine[0].orderId } };
    const body = JSON.stringify(x.body);
    if (same && same.body !== body) return { status: 422, body: { error: 'KEY_REUSED' } };
    const order = same ?? this.#sell(x, item, mine);
    if (order.error) return order.error;
    const { orderId, status, quantity, numbers, amount, payBy } = this.#view(order);
    const taken = order.taken?.length ? order.taken : undefined;
    return {
      status: 202,
      body: {
        orderId,
        status,
        quantity,
        numbers,
        taken,
        amount,
        payBy,
        statusUrl: `/api/flash-sales/orders/${orderId}`,
      },
      headers: { 'Retry-After': String(this.retryAfter), Location: `/api/flash-sales/orders/${orderId}` },
    };
  }
  #sell(x, item, mine) {
    const refuse = (status, code, more) => ({ error: { status, body: { error: code, ...more } } });
    const { free, held } = this.counts(item);
    const { limit } = this.sale;
    const chosen = this.#choose(item, x.body);
    if (!chosen) return refuse(400, 'INVALID_REQUEST', { field: 'numbers' });
    const asked = x.body.numbers?.length ?? x.body.random ?? x.body.quantity ?? 1;
    const bought = mine.reduce((n, o) => n + o.quantity, 0);
    if (bought + asked > limit) return refuse(409, 'LIMIT_REACHED', { limit, held: bought });
    const isShort = x.body.numbers ? free === 0 : free < asked;
    if (isShort) return refuse(410, 'SOLD_OUT', { mayReturn: held > 0 });
    const { numbers, taken } = chosen;
    if (taken.length && (!x.body.partial || numbers.length === 0)) return refuse(409, 'NUMBER_TAKEN', { taken });
    const quantity = numbers?.length ?? asked;
    return this.addOrder(x.buyer, item, {
      key: `${x.buyer} ${x.key}`,
      body: JSON.stringify(x.body),
      quantity,
      numbers,
      taken,
    });
  }
  #order(x, order) {
    if (!order || order.seenAt > this.now())
      return x.send(404, { error: 'UNKNOWN_ORDER' }, { 'Retry-After': String(this.retryAfter) });
    if (x.method === 'GET') return x.send(200, this.#view(order));
    if (x.method === 'DELETE') {
      if (order.status === 'PAID') return x.send(409, { error: 'NOT_CANCELLABLE' });
      order.status = 'CANCELLED';
      return x.send(200, this.#view(order));
    }
    if (order.status !== 'PENDING') return x.send(409, { error: 'NOT_PAYABLE' });
    const paymentId = `pay-${order.orderId}`;
    this.payments.set(paymentId, order);
    x.send(201, { paymentId, gateway: 'sandbox', clientSecret: 'none', expiresAt: iso(order.payBy) });
  }
  #complete(x) {
    const order = this.payments.get(x.path.split('/')[4]);
    x.send(202, {});
    if (x.body.outcome === 'approve') {
      setTimeout(
        () => Object.assign(order, { status: 'PAID', paidAt: this.now() }),
        this.confirmAfter + (x.body.delayMs ?? 0),
      );
    }
  }
}

/// Trouble for `stub.purchases`. `lostAfter` takes the unit and loses the answer; `lostBefore` loses the request.
export const trouble = {
  lostAfter: (x, take) => {
    take();
    x.drop();
  },
  lostBefore: (x) => x.drop(),
  busy: (x) => x.send(429, { error: 'TOO_MANY_REQUESTS' }, { 'Retry-After': '1' }),
  unavailable: (x) => x.send(503, { error: 'UNAVAILABLE' }, { 'Retry-After': '1' }),
  maybe: (x, take) => x.send(503, { error: 'UNAVAILABLE', orderId: take().body.orderId }, { 'Retry-After': '1' }),
  allHeld: (x) => x.send(410, { error: 'SOLD_OUT', mayReturn: true }),
  soldOut: (x) => x.send(410, { error: 'SOLD_OUT', mayReturn: false }),
  signedOut: (x) => x.send(401, { error: 'UNAUTHENTICATED' }),
};
