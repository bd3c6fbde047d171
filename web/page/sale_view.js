// The screen of a sale before, during and after its window, and the list of sales.

import { clockOf, money, numberFormat, spoken, t, when } from './texts.js';
import { at, clock, h, kBackoffMs, Marks, pause, setAttribute, setText, show, speech } from './tools.js';
import { focusOrder, limit, mayBuy, model, picksOf, pressBuy, sentence, stockOf } from './flow.js';
import { allSales, button, fact, heading, itemTitle, showLeft, timerNode } from './views.js';

const kOver = new Set(['O4', 'O6', 'room']); // Screens on which nothing can be bought any more, or not here.
const kStaleMs = 25_000; // Counts older than this are greyed,
const kTooOldMs = 60_000; // and older than this not shown.
const kBadges = { OPEN: 'ok', AVAILABLE: 'ok', ALL_HELD: 'held', PAUSED: 'held', SOLD_OUT: 'sold', CLOSED: 'sold' };
const kWords = {
  S1: 'S',
  S2: 'S',
  opening: 'S',
  O3: 'ALL_HELD',
  O4: 'SOLD_OUT',
  O5: 'PAUSED',
  O6: 'CLOSED',
  room: 'WAITING_ROOM',
};

export function listView() {
  const rank = { OPEN: 0, PAUSED: 0, WAITING_ROOM: 1, SCHEDULED: 1, CLOSED: 2 };
  const sales = [...model.sales].sort((a, b) => rank[a.state] - rank[b.state] || at(a.opensAt) - at(b.opensAt));
  const card = (sale) => {
    const [name, moment] = sale.state === 'CLOSED' ? ['sale.ends', sale.closesAt] : ['sale.opens', sale.opensAt];
    const word = sale.state === 'SCHEDULED' ? 'state.S' : `state.${sale.state}`;
    const link = h('a', { class: 'card', href: `/?sale=${encodeURIComponent(sale.saleId)}` });
    link.append(h('strong', {}, sale.title), h('span', { class: `badge ${kBadges[sale.state] ?? ''}` }, t(word)));
    link.append(h('span', { class: 'muted' }, `${t(name)} ${when('sale.when', at(moment))}`));
    return h('li', {}, link);
  };
  const cards = h('ul', { class: 'cards' }, ...sales.map(card));
  return {
    nodes: [heading(t('list.title')), sales.length ? cards : h('p', { class: 'lead' }, t('list.empty'))],
    update() {},
  };
}

// ---- The parts of a sale: each has a root, and an update that says the truth for the present screen. ----

function headPart() {
  const { sale } = model;
  const price = h('strong');
  const name = h('span');
  return {
    root: h('div', { class: 'head' }, heading(sale.title), h('p', { class: 'price' }, price, ' ', name)),
    update() {
      const { item } = model;
      price.parentNode.hidden = !item;
      setText(price, item ? money(item.price) : '');
      setText(name, item && item.title !== sale.title ? item.title : '');
    },
  };
}

function stockPart() {
  const badge = h('p');
  const count = h('p', { class: 'count' });
  const age = h('p', { class: 'small muted' });
  const lead = h('p', { class: 'said' });
  return {
    root: h('div', { class: 'stock' }, badge, count, age, lead),
    update(screen) {
      const { free } = stockOf(model.item);
      const word = kWords[screen] ?? 'AVAILABLE';
      const old = Math.max(0, clock.now() - at(model.state.asOf));
      const known = clock.quality === 'fine' && old < kTooOldMs;
      setText(badge, t(`state.${word}`));
      setAttribute(badge, 'class', `badge ${kBadges[word] ?? ''}`);
      count.hidden = !(word === 'AVAILABLE' && free > 0 && old < kTooOldMs);
      count.classList.toggle('stale', old > kStaleMs);
      setText(count, t('avail.free', { n: free ?? 0 }));
      age.hidden = !(known && ['O1', 'P1', 'O3'].includes(screen));
      setText(age, t('avail.age', { n: Math.floor(old / 1000) }));
      setText(lead, /^O[3-6]|room/.test(screen) ? sentence(screen) : screen === 'opening' ? t('sale.opening') : '');
      lead.hidden = lead.textContent === '';
    },
  };
}

function countdownPart() {
  const timer = timerNode(t('sale.opens_in'));
  const marks = new Marks([3_600_000, 600_000, 300_000, 60_000, 10_000], (mark) =>
    speech.say(t('sale.opens_spoken', { time: spoken(mark) })),
  );
  timer.track.hidden = true;
  return {
    root: timer.root,
    update(screen) {
      const opensAt = at(model.state.opensAt);
      const left = opensAt - clock.now();
      timer.root.hidden = screen !== 'S1' && screen !== 'S2';
      if (timer.root.hidden) return;
      showLeft(timer, left);
      setText(timer.note, when('sale.when', opensAt));
      if (clock.quality === 'fine') marks.pass(left);
    },
  };
}

function choicePart() {
  const sides = new Map();
  const choose = (item) => () => {
    model.item = item;
    show();
  };
  const choice = (item) => {
    const side = h('span', { class: 'side' });
    sides.set(item, side);
    const radio = h('input', {
      type: 'radio',
      name: 'item',
      value: item.itemId,
      checked: item === model.item,
      onchange: choose(item),
    });
    return h('label', { class: 'choice' }, radio, h('span', { class: 'words' }, h('span', {}, item.title), side));
  };
  const root = h('fieldset', { class: 'choices' }, h('legend', {}, t('buy.which')), ...model.items.map(choice));
  root.hidden = model.items.length < 2;
  return {
    root,
    update(screen) {
      for (const [item, side] of sides) {
        const word = model.state.phase === 'OPEN' ? stockOf(item).state : (kWords[screen] ?? 'AVAILABLE');
        setText(side, `${money(item.price)} · ${t(`state.${word}`)}`);
      }
    },
  };
}

function unitsPart() {
  const units = h('output', { 'aria-live': 'polite' });
  const total = h('span', { class: 'total' });
  const step = (name, sign, by) =>
    h(
      'button',
      {
        type: 'button',
        'aria-label': t(name),
        onclick() {
          model.units = Math.max(1, Math.min(model.units + by, mayBuy()));
          show();
        },
      },
      sign,
    );
  const stepper = h('div', { class: 'stepper', role: 'group', 'aria-labelledby': 'many' });
  stepper.append(step('buy.fewer', '−', -1), units, step('buy.more', '+', 1));
  return {
    root: h(
      'div',
      { class: 'units' },
      h('div', { class: 'row' }, h('span', { id: 'many' }, t('buy.many')), stepper),
      h('div', { class: 'row' }, h('span', {}, t('buy.total')), total),
    ),
    update(screen) {
      const { item } = model;
      this.root.hidden = !item || item.numbers || mayBuy() < 2 || kOver.has(screen);
      if (this.root.hidden) return;
      setText(units, numberFormat.format(model.units));
      setText(total, money({ ...item.price, value: item.price.value * model.units }));
    },
  };
}

// The picker comes when an item with numbers is shown: who buys counted stock never loads it. Each item keeps its own.
const pickers = new Map();
let pickerModule = null;
async function loadPicker() {
  for (let i = 0; ; ++i) {
    try {
      pickerModule = await import('./picker.js');
      return show();
    } catch {
      await pause(kBackoffMs[Math.min(i, kBackoffMs.length - 1)]);
    }
  }
}
const kWithoutPicker = new Set([...kOver, 'O3']); // Nothing can be picked there.
const isPicking = (screen) => model.item?.numbers != null && !kWithoutPicker.has(screen);

function pickerParts() {
  const root = h('div');
  const list = h('div');
  let current = null;
  const change = (next) => {
    current?.rest();
    current = next;
    current?.wake();
    root.replaceChildren(next ? next.root : h('p', { class: 'muted' }, t('sale.loading')));
    list.replaceChildren(...(next ? [next.list] : []));
  };
  const update = (screen) => {
    root.hidden = list.hidden = !isPicking(screen);
    if (root.hidden) return current && change(null);
    if (!pickerModule) {
      if (!root.firstChild) {
        change(null);
        loadPicker();
      }
      return;
    }
    const { item } = model;
    if (!pickers.has(item)) pickers.set(item, pickerModule.makePicker(item));
    if (current !== pickers.get(item)) change(pickers.get(item));
    current.update(screen);
  };
  return [
    { root, update },
    { root: list, update() {} },
  ];
}

// The button that waits for the opening stays the same node, so that it keeps the focus of who waits with it.
function buyPart() {
  const label = h('span');
  const buy = h('button', { type: 'button', class: 'primary', id: 'buy', onclick: () => pressBuy() }, label);
  const note = h('p', { class: 'small muted' });
  const others = allSales();
  const labels = { S1: 'buy.opens', S2: 'buy.opens', opening: 'sale.opening', P1: 'proc.sending' };
  const waits = {
    S1: 'sale.no_refresh',
    S2: 'sale.no_refresh',
    opening: 'sale.no_refresh',
    O5: 'sale.no_refresh',
    O3: 'avail.turns_on',
  };
  const minutes = Math.floor((model.sale.payWithinSeconds ?? 0) / 60);
  return {
    root: h('div', { class: 'buy' }, buy, note, others),
    update(screen) {
      const busy = screen === 'P1' || model.armed != null;
      const picked = model.item?.numbers ? (picksOf(model.item)?.size ?? 0) : null;
      buy.hidden = note.hidden = kOver.has(screen) || !model.item;
      others.hidden = !buy.hidden;
      setAttribute(buy, 'aria-disabled', screen === 'O1' && picked !== 0 ? null : 'true');
      setAttribute(buy, 'aria-busy', busy ? 'true' : null);
      buy.classList.toggle('spin', busy);
      setText(
        label,
        t(model.armed ? 'buy.armed' : (labels[screen] ?? (picked ? 'pick.buy' : 'buy.button')), {
          clock: clockOf(at(model.state.opensAt)),
          n: picked ?? 0,
        }),
      );
      const hint = picked === 0 ? 'pick.none' : minutes ? 'buy.note_for' : 'buy.note';
      setText(note, t(waits[screen] ?? hint, { n: minutes }));
    },
  };
}

function minePart() {
  const list = h('ul');
  const root = h('section', { class: 'mine', 'aria-label': t('order.mine') }, h('h2', {}, t('order.mine')), list);
  let before = '';
  const row = (order) => {
    const words = { n: order.quantity ?? 1, item: itemTitle(order), status: t(`order.${order.status}`) };
    return h(
      'li',
      {},
      button('quiet', t('order.row', words), () => {
        model.acted = true;
        focusOrder(order);
      }),
    );
  };
  return {
    root,
    update() {
      const orders = (model.me?.orders ?? []).slice(0, 5);
      const now = orders.map((order) => order.orderId + order.status).join();
      root.hidden = orders.length === 0;
      if (now === before) return;
      before = now;
      list.replaceChildren(...orders.map(row));
    },
  };
}

function aboutPart() {
  const facts = h(
    'dl',
    { class: 'facts' },
    ...fact(t('sale.opens'), ''),
    ...fact(t('sale.ends'), ''),
    ...fact(t('buy.limit'), ''),
  );
  const [opens, ends, each] = facts.querySelectorAll('dd');
  const steps = [1, 2, 3, 4].map((n) => h('li', {}, t(`how.${n}`)));
  const how = h('section', { class: 'how' }, h('h2', {}, t('how.title')), h('ol', {}, ...steps));
  return {
    root: h('div', { class: 'about' }, facts, how),
    update(screen) {
      setText(opens, when('sale.when', at(model.state.opensAt)));
      setText(ends, when('sale.when', at(model.state.closesAt)));
      setText(each, t('buy.limit_each', { n: limit() ?? 1 }));
      each.hidden = each.previousSibling.hidden = limit() == null;
      how.hidden = kOver.has(screen);
    },
  };
}

export function saleView() {
  const head = headPart();
  const about = aboutPart();
  const [picker, list] = pickerParts();
  const groups = [
    [stockPart(), countdownPart()],
    [choicePart(), picker],
    [unitsPart(), list, buyPart(), minePart()],
  ];
  const nodes = groups.map((parts) => h('div', { class: 'group' }, ...parts.map((part) => part.root)));
  const section = h('section', { class: 'panel', 'aria-label': t('buy.button') }, ...nodes);
  const root = h('div', { class: 'sale' }, head.root, section, about.root);
  return {
    nodes: [root],
    update(screen) {
      root.classList.toggle('numbered', isPicking(screen));
      for (const part of [head, about, ...groups.flat()]) part.update(screen);
    },
  };
}
