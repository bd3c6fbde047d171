// The screens: each view builds its nodes once and gives back what keeps them true.

import { clockOf, dateFormat, digits, money, numberFormat, secondFormat, spoken, t, when, zoneLabel } from './texts.js';
import { at, byId, clock, h, kWarnMs, Marks, setAttribute, setText, shortCode, show, speech } from './tools.js';
import {
  completePayment, focusOrder, leaveOrder, limit, model, pressBuy, release, sentence, setConfirming,
  startPayment, stockOf,
} from './flow.js';

const heading = (text) => h('h1', { tabindex: '-1' }, text);
export const button = (kind, text, onpress) => {
  const node = h('button', { type: 'button', class: kind }, text);
  node.addEventListener('click', async () => {
    if (node.getAttribute('aria-busy')) return;
    node.setAttribute('aria-busy', 'true');
    node.classList.add('spin');
    await onpress();
    node.removeAttribute('aria-busy');
    node.classList.remove('spin');
  });
  return node;
};
const fact = (name, value, kind) => [h('dt', {}, name), h('dd', { class: kind }, value)];
const allSales = () => h('a', { class: 'button quiet', href: '/' }, t('list.all'));
const itemTitle = (order) => model.items.find((item) => item.itemId === order.itemId)?.title ?? order.itemId ?? '';

function timerNode(label) {
  const nodes = { label: h('p', { class: 'muted' }, label), digits: h('span', { class: 'digits', 'aria-hidden': 'true' }) };
  nodes.words = h('span', { class: 'unseen' });
  nodes.note = h('p', { class: 'muted' });
  nodes.fill = h('div', { class: 'bar-fill' });
  nodes.track = h('div', { class: 'bar-track', 'aria-hidden': 'true' }, nodes.fill);
  nodes.root = h('div', { class: 'timer' }, nodes.label, h('div', { role: 'timer' }, nodes.digits, nodes.words), nodes.track, nodes.note);
  return nodes;
}

// Digits need a measured clock; a roughly known one gives whole minutes, and none gives nothing but the deadline.
function showLeft(timer, left) {
  const known = clock.quality === 'fine';
  timer.root.classList.toggle('rough', !known);
  timer.label.hidden = timer.digits.parentNode.hidden = clock.quality === 'none';
  setText(timer.digits, known ? digits(left) : t('sale.about', { time: spoken(Math.max(60_000, left - (left % 60_000))) }));
  setText(timer.words, known ? spoken(left) : '');
}

// The deadline of an order: digits, bar, wall-clock time, and the marks that are spoken.
function deadline() {
  const timer = timerNode(t('hold.left'));
  const marks = new Marks([300_000, 120_000, 60_000, 30_000], (mark) =>
    speech.say(mark < 60_000 ? t('hold.seconds', { n: mark / 1000 }) : t('hold.warn', { n: mark / 60_000 }), mark === kWarnMs));
  return {
    root: timer.root,
    update() {
      const { payBy, createdAt } = model.order;
      const left = at(payBy) - clock.now();
      const whole = createdAt ? at(payBy) - at(createdAt) : 600_000;
      const known = clock.quality === 'fine';
      timer.root.classList.toggle('late', left <= kWarnMs);
      showLeft(timer, left);
      setText(timer.note, left > 0 ? t('hold.by', { clock: clockOf(at(payBy)), zone: zoneLabel }) : t('hold.over'));
      timer.fill.style.transform = `scaleX(${Math.max(0, Math.min(1, left / whole))})`;
      if (known) marks.pass(left);
    },
  };
}
const orderFacts = () => {
  const { order } = model;
  return h('dl', { class: 'facts' },
    ...fact(t('order.item'), itemTitle(order)), ...fact(t('order.units'), numberFormat.format(order.quantity ?? 1)),
    ...(order.amount ? fact(t('buy.total'), money(order.amount), 'strong') : []));
};
const codeLine = () => h('p', { class: 'muted small' }, t('order.code', { code: shortCode(model.order.orderId) }));

function loadingView() {
  return { nodes: [heading(t('sale.loading'))], update() {} };
}
function noSaleView() {
  return { nodes: [h('div', { class: 'panel one' }, heading(t('sale.none')), h('div', { class: 'actions' }, allSales()))], update() {} };
}

function listView() {
  const rank = { OPEN: 0, PAUSED: 0, WAITING_ROOM: 1, SCHEDULED: 1, CLOSED: 2 };
  const sales = [...model.sales].sort((a, b) => rank[a.state] - rank[b.state] || at(a.opensAt) - at(b.opensAt));
  const card = (sale) => h('li', {}, h('a', { class: 'card', href: `/?sale=${encodeURIComponent(sale.saleId)}` },
    h('strong', {}, sale.title),
    h('span', { class: `badge ${{ OPEN: 'ok', PAUSED: 'held', CLOSED: 'sold' }[sale.state] ?? ''}` },
      t(sale.state === 'SCHEDULED' ? 'state.S' : `state.${sale.state}`)),
    h('span', { class: 'muted' }, sale.state === 'CLOSED' ? `${t('sale.ends')} ${when('sale.when', at(sale.closesAt))}`
      : `${t('sale.opens')} ${when('sale.when', at(sale.opensAt))}`)));
  return {
    nodes: [heading(t('list.title')), sales.length ? h('ul', { class: 'cards' }, ...sales.map(card)) : h('p', { class: 'lead' }, t('list.empty'))],
    update() {},
  };
}

// Before, during and after the window: one view, so that the button which waits for the opening stays the same node.
export function saleView() {
  const { sale, items } = model;
  const many = items.length > 1;
  const badge = h('p', { class: 'badge' });
  const count = h('p', { class: 'count' });
  const lead = h('p', {});
  const age = h('p', { class: 'small muted' });
  const timer = timerNode(t('sale.opens_in'));
  timer.track.hidden = true;
  const price = h('p', { class: 'price' });
  const label = h('span', {});
  const buy = h('button', { type: 'button', class: 'primary', id: 'buy', onclick: pressBuy }, label);
  const note = h('p', { class: 'small muted' });
  const total = h('span', { class: 'total' });
  const units = h('output', { 'aria-live': 'polite' });
  const step = (by) => () => {
    model.units = Math.max(1, Math.min(model.units + by, (limit() ?? 1) - (model.me?.bought ?? 0)));
    show();
  };
  const stepper = h('div', { class: 'row' }, h('span', { id: 'many' }, t('buy.many')), h('div', { class: 'stepper', role: 'group', 'aria-labelledby': 'many' },
    h('button', { type: 'button', 'aria-label': t('buy.fewer'), onclick: step(-1) }, '−'), units,
    h('button', { type: 'button', 'aria-label': t('buy.more'), onclick: step(1) }, '+')));
  const sums = h('div', { class: 'row' }, h('span', {}, t('buy.total')), total);
  const sides = new Map();
  const choices = many && h('fieldset', { class: 'choices' }, h('legend', {}, t('buy.which')), ...items.map((item) => {
    const side = h('span', { class: 'side' });
    sides.set(item, side);
    return h('label', { class: 'choice' },
      h('input', { type: 'radio', name: 'item', value: item.itemId, checked: item === model.item, onchange() { model.item = item; show(); } }),
      h('span', { class: 'words' }, h('span', {}, item.title), side));
  }));
  const others = h('div', { class: 'actions' }, allSales());
  const how = h('section', { class: 'how' }, h('h2', {}, t('how.title')), h('ol', {}, ...[1, 2, 3, 4].map((n) => h('li', {}, t(`how.${n}`)))));
  const mine = h('section', { class: 'mine', 'aria-label': t('order.mine') });
  const opens = h('dd', {});
  const ends = h('dd', {});
  const limits = h('dd', {});
  const marks = new Marks([3_600_000, 600_000, 300_000, 60_000, 10_000], (mark) => speech.say(t('sale.opens_spoken', { time: spoken(mark) })));
  const payMinutes = sale.payWithinSeconds ? Math.floor(sale.payWithinSeconds / 60) : 0;
  let shownOrders = '';

  function updateTimer(screen) {
    const opensAt = at(model.state.opensAt);
    const left = opensAt - clock.now();
    const waits = screen === 'S1' || screen === 'S2';
    timer.root.hidden = !waits;
    showLeft(timer, left);
    setText(timer.note, when('sale.when', opensAt));
    if (waits && clock.quality === 'fine') marks.pass(left);
  }
  function updateStock(screen) {
    const stock = stockOf(model.item);
    const old = model.state.asOf ? Math.max(0, clock.now() - at(model.state.asOf)) : 0;
    const known = clock.quality !== 'none' && old < 60_000;
    const word = { S1: 'S', S2: 'S', opening: 'S', O3: 'ALL_HELD', O4: 'SOLD_OUT', O5: 'PAUSED', O6: 'CLOSED', room: 'WAITING_ROOM' }[screen] ?? 'AVAILABLE';
    setText(badge, t(`state.${word}`));
    setAttribute(badge, 'class', `badge ${{ AVAILABLE: 'ok', ALL_HELD: 'held', PAUSED: 'held', SOLD_OUT: 'sold', CLOSED: 'sold' }[word] ?? ''}`);
    const counted = word === 'AVAILABLE' && known && stock.free > 0;
    count.hidden = !counted;
    if (counted) setText(count, t('avail.free', { n: stock.free }));
    count.classList.toggle('stale', old > 25_000);
    age.hidden = !(known && ['O1', 'P1', 'O3'].includes(screen) && clock.quality === 'fine');
    if (!age.hidden) setText(age, t('avail.age', { n: Math.floor(old / 1000) }));
    const said = ['O3', 'O4', 'O5', 'O6', 'room'].includes(screen) ? sentence(screen) : screen === 'opening' ? t('sale.opening') : '';
    lead.hidden = !said;
    setText(lead, said);
    for (const [item, side] of sides) {
      setText(side, `${money(item.price)} · ${model.state.phase === 'OPEN' ? t(`state.${stockOf(item).state}`) : t(screen === 'O6' ? 'state.CLOSED' : 'state.S')}`);
    }
  }
  function updateButton(screen) {
    const off = !['O1', 'P1'].includes(screen);
    buy.hidden = ['O4', 'O6', 'room'].includes(screen) || !model.item;
    setAttribute(buy, 'aria-disabled', off || screen === 'P1' ? 'true' : null);
    setAttribute(buy, 'aria-busy', screen === 'P1' || model.armed ? 'true' : null);
    buy.classList.toggle('spin', screen === 'P1' || model.armed);
    const texts = { S1: 'buy.opens', S2: 'buy.opens', opening: 'sale.opening', P1: 'proc.sending' };
    setText(label, model.armed ? t('buy.armed') : t(texts[screen] ?? 'buy.button', { clock: clockOf(at(model.state.opensAt)) }));
    const notes = { S1: 'sale.no_refresh', S2: 'sale.no_refresh', opening: 'sale.no_refresh', O3: 'avail.turns_on', O5: 'sale.no_refresh' };
    setText(note, notes[screen] ? t(notes[screen]) : payMinutes ? t('buy.note_for', { n: payMinutes }) : t('buy.note'));
    note.hidden = buy.hidden;
    how.hidden = ['O4', 'O6'].includes(screen);
    others.hidden = !how.hidden;
  }
  function updateMine() {
    const orders = (model.me?.orders ?? []).slice(0, 5);
    const now = JSON.stringify(orders);
    if (now === shownOrders) return;
    shownOrders = now;
    mine.hidden = orders.length === 0;
    mine.replaceChildren(h('h2', {}, t('order.mine')), h('ul', {}, ...orders.map((order) => h('li', {}, button('quiet',
      t('order.row', { n: order.quantity ?? 1, item: itemTitle(order), status: t(`order.${order.status}`) }),
      () => { model.acted = true; focusOrder(order); })))));
  }
  mine.hidden = true;
  return {
    nodes: [h('div', { class: 'sale' },
      h('div', { class: 'head' }, heading(sale.title), price),
      h('section', { class: 'panel', 'aria-label': t('buy.button') }, h('div', { class: 'stock' }, badge, count, age), lead, timer.root, choices, stepper, sums, buy, note, others, mine),
      h('div', { class: 'about' },
        h('dl', { class: 'facts' }, h('dt', {}, t('sale.opens')), opens, h('dt', {}, t('sale.ends')), ends, h('dt', {}, t('buy.limit')), limits),
        how))],
    update(screen) {
      const { item } = model;
      const most = (limit() ?? 1) - (model.me?.bought ?? 0);
      price.hidden = !item;
      if (item) price.replaceChildren(h('strong', {}, money(item.price)), item.title === sale.title ? '' : ` ${item.title}`);
      setText(opens, when('sale.when', at(model.state.opensAt)));
      setText(ends, when('sale.when', at(model.state.closesAt)));
      limits.hidden = limits.previousSibling.hidden = limit() == null;
      setText(limits, t('buy.limit_each', { n: limit() ?? 1 }));
      stepper.hidden = most < 2 || ['O4', 'O6', 'room'].includes(screen);
      setText(units, numberFormat.format(model.units));
      sums.hidden = stepper.hidden;
      if (item) setText(total, money({ ...item.price, value: item.price.value * model.units }));
      updateTimer(screen);
      updateStock(screen);
      updateButton(screen);
      updateMine();
    },
  };
}

function waitView() {
  const title = heading('');
  const lead = h('p', { class: 'lead' });
  const steps = h('ol', { class: 'steps' }, h('li', { class: 'done' }, t('proc.step_sent')),
    h('li', { class: 'now' }, t('proc.step_reserving')), h('li', {}, t('proc.step_pay')));
  const sign = h('p', { class: 'spin muted row', 'aria-hidden': 'true' });
  const close = h('p', { class: 'muted' }, t('proc.close'));
  const code = h('p', { class: 'muted small' });
  return {
    nodes: [h('div', { class: 'panel one' }, title, steps, sign, lead, close, code)],
    update(screen) {
      const taken = screen === 'P2' || screen === 'P3';
      setText(title, t(taken ? 'proc.title' : screen === 'P4' ? 'proc.checking' : 'proc.wait'));
      setText(lead, sentence(screen));
      steps.hidden = close.hidden = code.hidden = !taken;
      sign.hidden = taken;
      if (taken) setText(code, t('order.code', { code: shortCode(model.order.orderId) }));
    },
  };
}

function askRelease() {
  const dialog = byId('ask');
  const opener = document.activeElement;
  const end = (yes) => () => {
    dialog.close();
    if (yes) release();
    else opener?.focus();
  };
  dialog.replaceChildren(h('div', { class: 'stack' }, h('h2', { id: 'ask-title' }, t('hold.release_ask')), h('p', {}, t('hold.release_why')),
    h('div', { class: 'actions' }, h('button', { type: 'button', class: 'primary', onclick: end(false) }, t('hold.keep')),
      h('button', { type: 'button', class: 'danger', onclick: end(true) }, t('hold.release')))));
  dialog.showModal();
}
function holdView() {
  const time = deadline();
  return {
    nodes: [h('div', { class: 'panel one' }, heading(t('hold.title')), orderFacts(), time.root,
      h('div', { class: 'actions' }, button('primary', t('pay.title'), startPayment), button('quiet', t('hold.release'), askRelease)), codeLine())],
    update() { time.update(); },
  };
}
function payView() {
  const time = deadline();
  const refusal = h('p', { class: 'notice bad' });
  const outcome = (value, checked) => h('label', { class: 'choice' }, h('input', { type: 'radio', name: 'outcome', value, checked }),
    h('span', { class: 'words' }, t(`pay.${value}`)));
  const form = h('fieldset', { class: 'choices' }, h('legend', {}, t('pay.outcome')), outcome('approve', true), outcome('decline', false),
    outcome('slow', false), outcome('twice', false));
  return {
    nodes: [h('div', { class: 'panel one' }, heading(t('pay.title')), refusal, orderFacts(), time.root, h('p', { class: 'test' }, t('pay.test')), form,
      h('div', { class: 'actions' },
        button('primary', t('pay.button', { amount: money(model.order.amount) }), () => completePayment(form.querySelector(':checked').value)),
        button('quiet', t('pay.back'), () => { Object.assign(model, { payment: null, payRefused: false, acted: true }); show(); })), codeLine())],
    update(screen) {
      refusal.hidden = screen !== 'Y4';
      if (screen === 'Y4') setText(refusal, sentence('Y4'));
      time.update();
    },
  };
}
function confirmView() {
  const time = deadline();
  const lead = h('p', { class: 'lead' });
  const again = button('quiet', t('pay.again'), () => { setConfirming(null); model.acted = true; show(); });
  return {
    nodes: [h('div', { class: 'panel one' }, heading(t('pay.confirming_title')), h('p', { class: 'spin row', 'aria-hidden': 'true' }), lead,
      orderFacts(), time.root, h('div', { class: 'actions' }, again), codeLine())],
    update() {
      const long = performance.now() - model.confirmingSince > 20_000;
      again.hidden = !long;
      setText(lead, long ? t('pay.confirming_long') : sentence('Y2'));
      if (long) speech.say(t('pay.confirming_long'));
      time.update();
    },
  };
}
function doneView() {
  const { order } = model;
  return {
    nodes: [h('div', { class: 'panel one' }, h('div', { class: 'mark', 'aria-hidden': 'true' }, '✓'), heading(t('done.title')),
      h('p', { class: 'lead' }, model.sale.title), h('dl', { class: 'facts' },
        ...fact(t('order.item'), itemTitle(order)), ...fact(t('order.units'), numberFormat.format(order.quantity ?? 1)),
        ...(order.amount ? fact(t('order.amount'), money(order.amount), 'strong') : []),
        ...(order.paidAt ? fact(t('order.paid_at'), `${dateFormat.format(at(order.paidAt))}, ${secondFormat.format(at(order.paidAt))} (${zoneLabel})`) : []),
        ...fact(t('order.id'), order.orderId, 'mono')),
      h('div', { class: 'actions' }, button('primary', t('done.print'), () => window.print()), button('quiet', t('order.back'), leaveOrder)), codeLine())],
    update() {},
  };
}
export function endView(screen) {
  const titles = { X1: 'hold.expired_title', X2: 'already.title', X3: 'hold.released_title', P5: 'proc.void_title', D4: 'refund.title' };
  const see = screen === 'X2' && (model.already.orderId ?? model.me?.orders[0]?.orderId);
  return {
    nodes: [h('div', { class: 'panel one' },
      h('div', { class: `mark ${screen === 'X1' || screen === 'P5' ? 'bad' : 'plain'}`, 'aria-hidden': 'true' }, screen === 'X2' ? '✓' : '–'),
      heading(t(titles[screen])), h('p', { class: 'lead' }, sentence(screen)), screen !== 'X2' && orderFacts(),
      h('div', { class: 'actions' },
        see && button('primary', t('already.see'), () => { model.acted = true; focusOrder({ orderId: see, status: 'PENDING' }); }),
        button(see ? 'quiet' : 'primary', t('order.back'), leaveOrder)), screen !== 'X2' && codeLine())],
    update() {},
  };
}

export const kViews = {
  loading: loadingView, list: listView, nosale: noSaleView, P2: waitView, P3: waitView, P4: waitView, E3: waitView, E4: waitView,
  R1: holdView, R2: holdView, Y1: payView, Y4: payView, Y2: confirmView, D1: doneView,
  X1: endView, X2: endView, X3: endView, P5: endView, D4: endView,
};
