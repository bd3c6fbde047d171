// The page of a sale: shows where the sale and the buyer stand, and sends what the buyer presses.
//
// It decides nothing. Price, limit, opening, deadlines and every refusal are the server's. What belongs to the buyer
// belongs to the account: a reload, a second tab and a second device show the same screen. A lost answer is "we are
// checking", never "failed". All text from the shop is set as text, never as markup.

import { spoken, t, zoneLabel } from './texts.js';
import { at, byId, clock, h, hooks, kPollFailedMaxMs, pause, setText, speech, store } from './tools.js';
import {
  buyerName,
  channel,
  focusOrder,
  kUrgent,
  limitReached,
  liveOrder,
  loadMe,
  loadSale,
  model,
  notice,
  open,
  orderPoller,
  pickScreen,
  sentence,
  setConfirming,
  settle,
  setToken,
  signIn,
  statePoller,
} from './flow.js';
import { listView, saleView } from './sale_view.js';
import { button, endView, kViews } from './views.js';

const shown = { view: null, key: '', title: '' };

hooks.show = show;

// Makes the document show what the model says. Cheap when nothing changed; called on every change and every tick.
function show() {
  const screen = pickScreen();
  const view = screen === 'list' ? listView : (kViews[screen] ?? saleView);
  const { order } = model;
  const about = view === saleView ? model.items.map((item) => item.itemId) : [order?.orderId, !!order?.amount];
  const key = [view.name, view === endView && screen, ...about].join();
  const changed = screen !== model.screen;
  const main = byId('main');
  const focusLost = () =>
    !document.activeElement || document.activeElement === document.body || document.activeElement.closest('[hidden]');
  const wasInside = main.contains(document.activeElement);
  const first = model.screen === '' || model.screen === 'loading';
  model.screen = screen;
  let moved = false;
  if (key !== shown.key) {
    shown.view = view(screen);
    shown.key = key;
    if (byId('ask').open) byId('ask').close();
    main.replaceChildren(...shown.view.nodes);
    moved = true;
  }
  shown.view.update(screen);
  showAccount();
  showTitle(screen);
  if (!changed) return;
  document.body.dataset.screen = screen;
  const focus = (moved && model.acted && screen !== 'P1') || (wasInside && focusLost());
  if (focus) main.querySelector('h1').focus();
  if (screen !== 'P1') model.acted = false;
  if (!first && (!focus || !moved || kUrgent.has(screen))) speech.say(sentence(screen), kUrgent.has(screen));
  statePoller.plan();
  orderPoller.plan();
}

function showTitle(screen) {
  const left = model.order?.payBy ? at(model.order.payBy) - clock.now() : 0;
  const main = byId('main');
  const head = main.querySelector('h1').textContent;
  const state =
    /^[RY]/.test(screen) && left > 0
      ? t('hold.warn', { n: Math.floor(left / 60_000) })
      : ['S1', 'S2', 'opening', 'O1', 'O3', 'O4', 'O5', 'O6', 'P1', 'room'].includes(screen)
        ? main.querySelector('.badge').textContent
        : head;
  const title = [state, model.sale?.title, t('shop.name')].filter(Boolean).join(' – ');
  if (document.title !== title) document.title = title;
}
let accountShown = null;
function showAccount() {
  const now = `${model.token} ${model.guestClosed}`;
  if (now === accountShown) return;
  accountShown = now;
  byId('account').replaceChildren(
    ...(model.token
      ? [
          h('span', {}, h('span', { class: 'long' }, t('auth.in')), buyerName()),
          button('quiet', t('auth.out'), signOut),
        ]
      : model.guestClosed
        ? []
        : [
            button('quiet', t('auth.guest'), async () => {
              if (await signIn()) await settle();
              show();
            }),
          ]),
  );
}
function signOut() {
  setToken(null);
  setConfirming(null);
  Object.assign(model, { order: null, already: null, payment: null, acted: true });
  statePoller.now();
  show();
}

// ---- Start, tick, return. ----

let resampleAt = null;
let sessionAskedFor = null;
let closeAskedFor = null;

function tick() {
  const { state } = model;
  if (state?.phase === 'SCHEDULED' && clock.quality !== 'none') {
    const left = at(state.opensAt) - clock.now();
    if (left <= 0) open();
    else if (left < 500) setTimeout(() => show(), left);
    if (left < 60_000 && left > 20_000) resampleAt ??= 20_000 + Math.random() * (left - 20_000);
    if (resampleAt !== null && left < resampleAt && resampleAt > 0) {
      resampleAt = 0;
      clock.sample();
    }
    if (left < 300_000 && left > 240_000 && sessionAskedFor !== state.opensAt && model.token) {
      sessionAskedFor = state.opensAt;
      setTimeout(loadMe, 60_000 * Math.random());
    }
  }
  if (
    state &&
    ['OPEN', 'PAUSED'].includes(state.phase) &&
    clock.now() >= at(state.closesAt) &&
    closeAskedFor !== state.closesAt
  ) {
    closeAskedFor = state.closesAt;
    setTimeout(() => statePoller.now(), 1000 + 1000 * Math.random());
  }
  const off = clock.quality === 'fine' ? Math.abs(Date.now() - clock.now()) : 0;
  notice(
    'clock',
    off > 30_000 ? t('sale.clock_off', { time: spoken(off < 60_000 ? off : 60_000 * Math.round(off / 60_000)) }) : null,
    'warn',
  );
  show();
}

function back() {
  if (document.hidden) return;
  clock.check();
  setTimeout(() => {
    if (model.base !== 'sale') return;
    statePoller.now();
    settle();
  }, 1000 * Math.random());
}

async function start() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) history.replaceState(null, '', location.pathname + location.search);
  setToken(given ?? store.get('token'));
  setText(byId('shop'), t('shop.name'));
  setText(byId('foot'), t('foot.times', { zone: zoneLabel }));
  show();
  setTimeout(() => clock.sample(), 3000 * Math.random());
  for (let i = 0; !(await loadSale()); ++i) {
    await pause(Math.min(kPollFailedMaxMs, 1000 * 2 ** i) * (1 + Math.random() / 4));
  }
  if (!model.sale) return;
  await settleBeforeShow();
  setInterval(tick, 250);
  setInterval(() => clock.check(), 30_000);
  document.addEventListener('visibilitychange', back);
  addEventListener('pageshow', (event) => event.persisted && back());
  addEventListener('online', () => {
    clock.sample();
    back();
  });
  addEventListener('offline', () => hooks.reached(false));
  channel?.addEventListener('message', () => document.hidden || settle());
  addEventListener('storage', (event) => {
    if (event.key === 'weir.confirming') setConfirming(event.newValue);
    if (event.key !== 'weir.token' || event.newValue === model.token) return;
    Object.assign(model, { token: event.newValue, me: null, order: null, already: null });
    settle();
  });
}
// A signed-in buyer's first screen is his own: the sale does not flash up before his order.
async function settleBeforeShow() {
  if (model.token) await loadMe();
  model.base = 'sale';
  const order = liveOrder() ?? (limitReached() ? model.me.orders.find((o) => o.status === 'PAID') : null);
  if (order) focusOrder(order);
  if (order) model.orderAsked = order.payBy != null && order.amount != null;
  tick();
}
start();
