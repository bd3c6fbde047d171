// What the page knows, and what a press does: the claim, the order, the payment, and which screen follows.

import { clockOf, money, spoken, t, when } from './texts.js';
import {
  at,
  byId,
  call,
  clock,
  h,
  hooks,
  kArmMs,
  kBackoffMs,
  kClaimRoundsMax,
  kOpeningAsksMax,
  kRecordingMs,
  kRefusalMs,
  kSlowMs,
  kUnitsPerClaimMax,
  kWarnMs,
  pause,
  Poller,
  randomKey,
  show,
  speech,
  store,
  tabStore,
} from './tools.js';

// ---- What the page knows. ----

export const model = {
  saleId: new URLSearchParams(location.search).get('sale'),
  base: 'loading', // loading, list, nosale or sale: what can be said before any order.
  sales: [],
  sale: null,
  items: [],
  item: null,
  units: 1,
  picks: new Map(), // Of each numbered item, by its id: what the picker collected.
  clash: null, // Numbers of the last claim that others took first, and the rest: {taken, rest}.
  refusedKeys: { attemptId: null, count: 0 },
  state: null,
  refusal: null,
  opening: false,
  openingRest: 0,
  armed: null, // What a press shortly before the opening will claim.
  token: null,
  guestClosed: false,
  me: null,
  claim: null, // The press under way: {stage, seconds}.
  order: null,
  orderSince: 0,
  orderAsks: 0,
  orderAsked: false,
  payment: null,
  payRefused: false,
  confirming: store.get('confirming'),
  confirmingSince: 0,
  already: null,
  acted: false,
  screen: '',
  notices: new Map(),
  reachable: true,
};

export const channel = 'BroadcastChannel' in window ? new BroadcastChannel('weir') : null;
export const tellTabs = () => channel?.postMessage('changed');
export const salePath = (rest = '') => `/api/flash-sales/${encodeURIComponent(model.saleId)}${rest}`;
export const orderPath = (orderId, rest = '') => `/api/flash-sales/orders/${encodeURIComponent(orderId)}${rest}`;

export function notice(key, text, kind = '') {
  if (text == null ? model.notices.delete(key) : model.notices.get(key)?.text !== text) {
    if (text != null) model.notices.set(key, { text, kind });
    byId('notices').replaceChildren(
      ...[...model.notices.values()].map((n) =>
        h('p', { class: `notice ${n.kind}` }, (n.kind === 'bad' ? `${t('err.title')} ` : '') + n.text),
      ),
    );
  }
}
hooks.reached = (yes) => {
  model.reachable = yes;
  notice('network', yes ? null : t(navigator.onLine ? 'err.unreachable' : 'err.offline'), 'warn');
  if (!yes) speech.say(t(navigator.onLine ? 'err.unreachable' : 'err.offline'));
};

export function setToken(token) {
  model.token = token;
  store.set('token', token);
  model.me = null;
}
export function signedOut() {
  setToken(null);
  notice('session', t('err.session'), 'bad');
  speech.say(t('err.session'), true);
  show();
}
export function buyerName() {
  try {
    const part = model.token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/');
    return String(JSON.parse(atob(part)).sub).slice(0, 14);
  } catch {
    return '…';
  }
}
export async function signIn() {
  const answer = await call('POST', '/api/auth/guest', { body: {} });
  if (answer.status === 200 && answer.body.token) {
    setToken(answer.body.token);
    notice('session', null);
    return true;
  }
  if (answer.status >= 400 && answer.status < 429) {
    model.guestClosed = true;
    notice('session', t('auth.closed'), 'warn');
  } else if (answer.status) {
    notice('session', t('err.later'), 'warn');
  }
  return false;
}

export async function loadMe() {
  const token = model.token;
  if (!token || !model.saleId) return { status: 401, body: {}, retryAfterMs: 0 };
  const answer = await call('GET', salePath('/me'), { token });
  if (token !== model.token) return { ...answer, status: 0 };
  if (answer.status === 200) model.me = { bought: 0, orders: [], ...answer.body };
  if (answer.status === 401) signedOut();
  return answer;
}
export const liveOrder = () => model.me?.orders.find((order) => order.status === 'PENDING');
export const limit = () => model.me?.limit ?? model.sale?.limitPerBuyer ?? null;
export const mayBuy = () => Math.max(0, Math.min((limit() ?? 1) - (model.me?.bought ?? 0), kUnitsPerClaimMax));
export const picksOf = (item) => model.picks.get(item?.itemId);
export const limitReached = () => model.me != null && model.me.limit != null && model.me.bought >= model.me.limit;

// Where this buyer stands decides the screen: at load, on return to the tab, after sign-in and after a lost answer.
export async function settle() {
  await loadMe();
  const paid = limitReached() ? model.me.orders.find((order) => order.status === 'PAID') : null;
  const order = liveOrder() ?? paid;
  if (order && order.orderId !== model.order?.orderId && !model.claim) focusOrder(order);
  else if (model.order) orderPoller.now();
  show();
}
export function focusOrder(order) {
  Object.assign(model, { order, orderSince: performance.now(), orderAsks: 0, orderAsked: false, already: null });
  Object.assign(model, { payment: null, payRefused: false, confirmingSince: performance.now() });
  if (order.status === 'PENDING' && clock.quality !== 'fine') clock.sample();
  show();
  orderPoller.plan();
}
export function leaveOrder() {
  Object.assign(model, { order: null, payment: null, payRefused: false, already: null, acted: true });
  show();
  statePoller.now();
}

export async function loadState() {
  const asked = performance.now();
  const answer = await call('GET', salePath('/state'));
  if (answer.status !== 200) return answer;
  clock.setCoarse(answer.headers);
  const state = answer.body;
  if (model.state && at(state.asOf) < at(model.state.asOf)) return answer; // Another cache, with an older copy.
  if (model.refusal && asked >= model.refusal.at + kRefusalMs) model.refusal = null;
  if (model.state && model.state.phase !== state.phase) model.openingRest = 0;
  model.state = state;
  show();
  return answer;
}
// Whether there was an answer: the sale, the list of sales, or that there is no such sale.
export async function loadSale() {
  if (!model.saleId) {
    const answer = await call('GET', '/api/flash-sales');
    if (answer.status !== 200) return false;
    model.sales = answer.body.sales ?? [];
    if (model.sales.length !== 1) {
      model.base = 'list';
      show();
      return true;
    }
    model.saleId = model.sales[0].saleId;
  }
  const [sale, state] = await Promise.all([call('GET', salePath()), loadState()]);
  if (sale.status === 404) {
    model.base = 'nosale';
    show();
    return true;
  }
  if (sale.status !== 200 || state.status !== 200) return false;
  model.sale = sale.body;
  model.items = sale.body.items ?? [];
  model.item = model.items.find((item) => item.itemId === model.item?.itemId) ?? model.items[0] ?? null;
  return true;
}

export const statePoller = new Poller(loadState, stateGapMs);

export function stateGapMs() {
  const left = model.state && at(model.state.opensAt) - clock.now();
  const gap =
    {
      S2: left > 20_000 ? 60_000 : null,
      opening: model.opening ? null : 2_000,
      room: 30_000,
      O1: 10_000,
      O3: 20_000,
      O5: 10_000,
      loading: model.saleId ? 1_000 : null,
      O4: model.items.some((item) => stockOf(item).state !== 'SOLD_OUT') ? 20_000 : null,
    }[model.screen] ?? null;
  return gap === null ? null : Math.max(gap, model.state?.pollAfterMs ?? 0);
}

export async function loadOrder() {
  const { token, order } = model;
  ++model.orderAsks;
  const answer = await call('GET', orderPath(order.orderId), { token });
  if (model.order?.orderId !== order.orderId || token !== model.token) return answer;
  if (answer.status === 200) adoptOrder(answer.body);
  if (answer.status === 401) signedOut();
  if (answer.status === 404 && performance.now() - model.orderSince > kRecordingMs) {
    notice('order', t('err.no_order'), 'bad');
    model.order = null;
  }
  show();
  return answer;
}
export function adoptOrder(order) {
  const before = model.order?.status;
  model.order = order;
  model.orderAsked = true;
  if (order.status === 'PENDING') return;
  if (model.confirming === order.orderId) setConfirming(null);
  if (before !== order.status) {
    tellTabs();
    loadMe().then(show); // A new attempt needs its new key.
  }
}
export const orderPoller = new Poller(loadOrder, orderGapMs);

export function orderGapMs() {
  if (!model.order) return null;
  const asked = model.orderAsks;
  const since = performance.now() - model.orderSince;
  const left = model.order.payBy ? at(model.order.payBy) - clock.now() : 0;
  switch (model.screen) {
    case 'P2':
    case 'P3':
      return Math.min(400 * 1.6 ** asked, since > 60_000 ? 10_000 : 5_000);
    case 'R1':
    case 'R2':
    case 'Y1':
    case 'Y4':
      if (left > 0) return Math.min(60_000, left + 200);
      return 2_000;
    case 'Y2': {
      // The first answers usually come within a second; only payers ask here, so a quick start costs little.
      const waited = performance.now() - model.confirmingSince;
      return waited < 3_000 ? 700 : waited < 120_000 ? 3_000 : 10_000;
    }
    default:
      return null;
  }
}
export function setConfirming(orderId) {
  Object.assign(model, { confirming: orderId, confirmingSince: performance.now() });
  store.set('confirming', orderId);
}

// ---- The press. One key for all its sendings, so that however often it arrives it is one order. ----

// What a press of Buy asks for; null while no number is picked.
export function wishNow() {
  if (!model.item?.numbers) return model.units > 1 ? { quantity: model.units } : {};
  const numbers = picksOf(model.item)?.mine ?? [];
  return numbers.length ? { numbers } : null;
}
// Another wish than one that was refused gets another key, so that a late copy of the old one cannot meet it. The key
// still tells the attempt: what became of a lost answer is found under it.
function claimKey() {
  const { attemptId } = model.me;
  if (model.refusedKeys.attemptId !== attemptId) model.refusedKeys = { attemptId, count: 0 };
  return model.refusedKeys.count ? `${attemptId}.${model.refusedKeys.count}` : attemptId;
}

export async function claim(wish = wishNow()) {
  if (model.claim) return;
  model.claim = { stage: 'sending' };
  Object.assign(model, { acted: true, armed: null, clash: null });
  notice('claim', null);
  show();
  setTimeout(() => {
    if (model.claim?.stage === 'sending') speech.say(t('proc.sending'));
  }, 1000);
  const end = await sendClaim(wish);
  model.claim = null;
  end?.();
  show();
}

// Sends until there is an answer, within bounds; gives back what to do with it.
export async function sendClaim(body) {
  if (!model.token && !(await signIn())) return null;
  let waited = 0;
  let busy = false;
  const wait = async (stage, answer) => {
    const backoff = kBackoffMs[Math.min(waited++, kBackoffMs.length - 1)] * (0.5 + Math.random());
    const ms = Math.max(backoff, answer.retryAfterMs);
    model.claim = { stage, seconds: Math.ceil(ms / 1000) };
    show();
    await pause(ms);
  };
  for (let round = 0; round < kClaimRoundsMax; ++round) {
    if (!model.me?.attemptId) {
      const me = await loadMe();
      if (me.status === 401) return null;
      if (me.status !== 200) {
        await wait(me.status ? 'unavailable' : 'unknown', me);
        continue;
      }
      if (liveOrder()) return () => reserved(liveOrder());
    }
    const answer = await call('POST', model.state.purchaseUrls[model.item.itemId], {
      body,
      key: claimKey(),
      token: model.token,
    });
    if (answer.status === 202)
      return () => {
        tellTabs();
        reserved({ itemId: model.item.itemId, ...answer.body });
      };
    if (answer.status === 429 && !busy) {
      busy = true;
      await wait('busy', answer);
    } else if (answer.status === 503 && !answer.body.orderId) {
      await wait('unavailable', answer);
    } else if (answer.status === 0 || answer.status >= 500) {
      // It may have arrived: ask first, send again only if there is no order.
      await wait('unknown', answer);
      model.me = null;
    } else {
      return () => refused(answer, body);
    }
  }
  return () => notice('claim', t('err.later'), 'warn');
}

function reserved(order) {
  model.picks.get(order.itemId)?.clear();
  tabStore.set(`picks.${order.itemId}`, null);
  focusOrder(order);
}
export function refused({ status, body, headers }, wish) {
  switch (body.error) {
    case 'NUMBER_TAKEN': {
      const isTaken = (number) => body.taken.includes(number);
      ++model.refusedKeys.count;
      picksOf(model.item)?.lose(isTaken);
      model.clash = { taken: wish.numbers.filter(isTaken), rest: wish.numbers.filter((n) => !isTaken(n)) };
      return;
    }
    case 'ALREADY_PURCHASED':
      model.already = { n: limit() ?? 1, orderId: body.orderId };
      return void loadMe().then(show);
    case 'LIMIT_REACHED':
      if (body.held >= body.limit) model.already = { n: body.limit };
      else notice('claim', t('buy.left', { n: body.limit - body.held }), 'warn');
      model.units = Math.max(1, Math.min(model.units, body.limit - body.held));
      return void loadMe().then(show);
    case 'SOLD_OUT': {
      model.refusal = {
        itemId: model.item.itemId,
        state: body.mayReturn ? 'ALL_HELD' : 'SOLD_OUT',
        at: performance.now(),
      };
      return void setTimeout(() => statePoller.now(), kRefusalMs + 500 * Math.random());
    }
    case 'KEY_REUSED': // Another tab sent another wish under this attempt: what became of it decides.
      return void settle();
    case 'NOT_OPEN':
    case 'SALE_ENDED':
    case 'PASS_REQUIRED':
      return void statePoller.now();
    case 'UNKNOWN_ITEM':
      return void loadSale();
    case 'UNAUTHENTICATED':
      return signedOut();
    case 'TOO_MANY_REQUESTS':
      return notice('claim', t('err.later'), 'warn');
    default:
      console.warn('refused', status, body.error);
      notice('claim', t('err.bad', { id: headers?.get('X-Request-Id') ?? '–' }), 'bad');
  }
}

// The button of a sale that is not open is in reach of every keyboard; what a press means depends on the moment.
export function pressBuy(wish = wishNow()) {
  const left = model.state ? at(model.state.opensAt) - clock.now() : Infinity;
  switch (model.screen) {
    case 'O1':
      if (wish) return claim(wish);
      if (!limitReached()) return speech.say(t('pick.none'));
      model.already = { n: limit(), orderId: model.me.orders[0]?.orderId };
      return show();
    case 'S1':
    case 'S2':
    case 'opening':
      if (left > kArmMs || clock.quality === 'none') return speech.say(t('buy.early', { time: spoken(left) }));
      if (!wish) return speech.say(t('pick.none'));
      model.armed = wish;
      speech.say(t('buy.armed'));
      if (!model.token) signIn().then((yes) => yes && loadMe());
      return show();
    case 'O3':
      return speech.say(t('avail.turns_on'));
    case 'O5':
      return speech.say(t('sale.paused'));
  }
}

// At the opening every page asks for the state, spread over a quarter of a second, until the address is there.
export async function open() {
  if (model.opening || clock.now() < model.openingRest) return;
  model.opening = true;
  show();
  await pause(250 * Math.random());
  for (let i = 0; i < kOpeningAsksMax; ++i) {
    await loadState();
    if (model.state.phase !== 'SCHEDULED' || at(model.state.opensAt) > clock.now() + 2000) break;
    await pause(300 + 200 * Math.random());
  }
  model.opening = false;
  model.openingRest = clock.now() + 5000;
  show();
  if (model.armed && model.screen === 'O1') claim(model.armed);
  model.armed = null;
}

// ---- Payment. ----

// For requests that may be sent again without harm.
export async function insist(send) {
  for (let i = 0; ; ++i) {
    const answer = await send();
    const again = answer.status === 0 || answer.status === 429 || answer.status >= 500;
    if (!again || i === kBackoffMs.length - 1) return answer;
    notice('pay', t('err.unavailable'), 'warn');
    await pause(Math.max(kBackoffMs[i] * (0.5 + Math.random()), answer.retryAfterMs));
  }
}
export async function startPayment() {
  const { order, token } = model;
  const key = randomKey();
  const answer = await insist(() =>
    call('POST', orderPath(order.orderId, '/payment'), { body: { gateway: 'sandbox' }, key, token }),
  );
  notice('pay', null);
  if (answer.status === 200 || answer.status === 201) Object.assign(model, { payment: answer.body, acted: true });
  else if (answer.status === 401) signedOut();
  else if (answer.body.error !== 'NOT_PAYABLE') notice('pay', t('err.later'), 'warn');
  await orderPoller.now(); // Starting to pay may have moved the deadline.
  show();
}
export async function completePayment(choice) {
  const { order, payment, token } = model;
  const body = { outcome: choice === 'decline' ? 'decline' : 'approve' };
  if (choice === 'slow') body.delayMs = 5000;
  if (choice === 'twice') body.times = 2;
  model.payRefused = false;
  // Sent once: a repeat would be a second payment. Whatever the answer, the order alone says whether it is paid.
  const answer = await call('POST', `/api/payments/sandbox/${encodeURIComponent(payment.paymentId)}/complete`, {
    body,
    key: randomKey(),
    token,
  });
  model.acted = true;
  if (answer.status >= 400 && answer.status < 500) notice('pay', t('err.later'), 'warn');
  else if (choice === 'decline') model.payRefused = true;
  else setConfirming(order.orderId);
  tellTabs();
  show();
  orderPoller.plan();
}
export async function release() {
  const { order, token } = model;
  const key = randomKey();
  const answer = await insist(() => call('DELETE', orderPath(order.orderId), { key, token }));
  notice('pay', null);
  model.acted = true;
  if (answer.status === 200) adoptOrder(answer.body);
  else await orderPoller.now(); // Perhaps it was paid or ended meanwhile: the order says so.
  show();
}

// ---- Which screen. Names are those of the specification of states. ----

export function stockOf(item) {
  const stock = (item && model.state?.stock?.[item.itemId]) ?? { state: 'AVAILABLE' };
  return model.refusal?.itemId === item?.itemId && item ? { ...stock, free: 0, state: model.refusal.state } : stock;
}
export function saleScreen() {
  switch (model.state.phase) {
    case 'SCHEDULED': {
      const left = at(model.state.opensAt) - clock.now();
      if (model.opening || (left <= 0 && clock.quality !== 'none')) return 'opening';
      return left > 600_000 || clock.quality === 'none' ? 'S1' : 'S2';
    }
    case 'OPEN':
      return { AVAILABLE: 'O1', ALL_HELD: 'O3', SOLD_OUT: 'O4' }[stockOf(model.item).state] ?? 'O1';
    case 'PAUSED':
      return 'O5';
    case 'WAITING_ROOM':
      return 'room';
    default:
      return 'O6';
  }
}
export function orderScreen(order) {
  switch (order.status) {
    case 'PENDING':
      if (!model.orderAsked || !order.payBy) return performance.now() - model.orderSince > kSlowMs ? 'P3' : 'P2';
      if (model.confirming === order.orderId) return 'Y2';
      if (model.payment) return model.payRefused ? 'Y4' : 'Y1';
      return at(order.payBy) - clock.now() <= kWarnMs ? 'R2' : 'R1';
    case 'PAID':
      return 'D1';
    case 'EXPIRED':
      return order.refund ? 'D4' : 'X1';
    case 'CANCELLED':
      return order.refund ? 'D4' : 'X3';
    case 'REJECTED':
      return 'P5';
    default:
      return 'D4';
  }
}
export function pickScreen() {
  const stage = model.claim?.stage;
  if (model.base !== 'sale') return model.base;
  if (stage && stage !== 'sending') return { unknown: 'P4', busy: 'E3', unavailable: 'E4' }[stage];
  if (model.order) return orderScreen(model.order);
  if (model.already) return 'X2';
  return stage ? 'P1' : saleScreen();
}

// What is said when a screen comes without the buyer's own act, or beside it.
export function sentence(screen) {
  const order = model.order;
  const payBy = order?.payBy ? at(order.payBy) : 0;
  const amount = order?.refund?.amount ?? order?.amount;
  switch (screen) {
    case 'O1':
      return t('sale.is_open');
    case 'O3': {
      const { held, returnsUntil } = stockOf(model.item);
      return held && returnsUntil
        ? t('avail.all_held', { n: held, clock: clockOf(at(returnsUntil)) })
        : t('avail.all_held_open');
    }
    case 'O4':
      return t('avail.sold_out');
    case 'O5':
      return t('sale.paused');
    case 'O6':
      return at(model.state.closesAt) <= clock.now()
        ? when('sale.ended', at(model.state.closesAt))
        : t('sale.ended_now');
    case 'room':
      return t('sale.waiting_room');
    case 'P2':
      return t('proc.working');
    case 'P3':
      return t('proc.slow');
    case 'P4':
      return t('proc.unknown');
    case 'E3':
      return t('err.busy', { n: model.claim.seconds });
    case 'E4':
      return t('err.unavailable');
    case 'P5':
      return t('proc.void');
    case 'R1':
      return `${t('hold.title')}. ${t('hold.pay_by', { clock: clockOf(payBy), time: spoken(payBy - clock.now()) })}`;
    case 'Y2':
      return t('pay.confirming', { clock: clockOf(payBy) });
    case 'Y4':
      return t('pay.refused', { clock: clockOf(payBy) });
    case 'D1':
      return t('done.title');
    case 'D4':
      if (order.refund?.state === 'DONE') return t('refund.done', { amount: money(amount) });
      return t(order.status === 'EXPIRED' ? 'late.refunded' : 'refund.due', { amount: money(amount) });
    case 'X1':
      return t('hold.expired');
    case 'X2':
      return t('already', { n: model.already.n });
    case 'X3':
      return t('hold.released');
    default:
      return '';
  }
}
export const kUrgent = new Set(['Y4', 'X1', 'P5']);
