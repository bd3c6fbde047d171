// The screens of an order, and the parts that all screens share. A view builds its nodes once and gives back what keeps
// them true.

import { clockOf, dateFormat, digits, money, numberFormat, secondFormat, spoken, t, zoneLabel } from './texts.js';
import { at, byId, clock, h, kWarnMs, Marks, setAttribute, setText, shortCode, show, speech } from './tools.js';
import {
  completePayment,
  focusOrder,
  leaveOrder,
  model,
  release,
  sentence,
  setConfirming,
  startPayment,
} from './flow.js';

export const heading = (text) => h('h1', { tabindex: '-1' }, text);
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
export const fact = (name, value, kind) => [h('dt', {}, name), h('dd', { class: kind }, value)];
export const allSales = () => h('a', { class: 'button quiet', href: '/' }, t('list.all'));
export const itemTitle = (order) =>
  model.items.find((item) => item.itemId === order.itemId)?.title ?? order.itemId ?? '';

export function timerNode(label) {
  const nodes = {
    label: h('p', { class: 'muted' }, label),
    digits: h('span', { class: 'digits', 'aria-hidden': 'true' }),
  };
  nodes.words = h('span', { class: 'unseen' });
  nodes.note = h('p', { class: 'muted' });
  nodes.fill = h('div', { class: 'bar-fill' });
  nodes.track = h('div', { class: 'bar-track', 'aria-hidden': 'true' }, nodes.fill);
  nodes.root = h(
    'div',
    { class: 'timer' },
    nodes.label,
    h('div', { role: 'timer' }, nodes.digits, nodes.words),
    nodes.track,
    nodes.note,
  );
  return nodes;
}

// Digits need a measured clock; a roughly known one gives whole minutes, and none gives nothing but the deadline.
export function showLeft(timer, left) {
  const known = clock.quality === 'fine';
  timer.root.classList.toggle('rough', !known);
  timer.label.hidden = timer.digits.parentNode.hidden = clock.quality === 'none';
  setText(
    timer.digits,
    known ? digits(left) : t('sale.about', { time: spoken(Math.max(60_000, left - (left % 60_000))) }),
  );
  setText(timer.words, known ? spoken(left) : '');
}

// The deadline of an order: digits, bar, wall-clock time, and the marks that are spoken.
function deadline() {
  const timer = timerNode(t('hold.left'));
  const marks = new Marks([300_000, 120_000, 60_000, 30_000], (mark) =>
    speech.say(
      mark < 60_000 ? t('hold.seconds', { n: mark / 1000 }) : t('hold.warn', { n: mark / 60_000 }),
      mark === kWarnMs,
    ),
  );
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
// What was bought; of numbered stock also which, written as the shop writes them.
const boughtFacts = (order) => {
  const which = order.labels ?? order.numbers?.map(String) ?? [];
  return [
    ...fact(t('order.item'), itemTitle(order)),
    ...fact(t('order.units'), numberFormat.format(order.quantity ?? 1)),
    ...(which.length ? fact(t('order.numbers', { n: which.length }), which.join(', '), 'strong') : []),
  ];
};
const orderFacts = () => {
  const { order } = model;
  return h(
    'dl',
    { class: 'facts' },
    ...boughtFacts(order),
    ...(order.amount ? fact(t('buy.total'), money(order.amount), 'strong') : []),
  );
};
const codeLine = () => h('p', { class: 'muted small' }, t('order.code', { code: shortCode(model.order.orderId) }));

function loadingView() {
  return { nodes: [heading(t('sale.loading'))], update() {} };
}
function noSaleView() {
  return {
    nodes: [h('div', { class: 'panel one' }, heading(t('sale.none')), h('div', { class: 'actions' }, allSales()))],
    update() {},
  };
}

function waitView() {
  const title = heading('');
  const lead = h('p', { class: 'lead' });
  const steps = h(
    'ol',
    { class: 'steps' },
    h('li', { class: 'done' }, t('proc.step_sent')),
    h('li', { class: 'now' }, t('proc.step_reserving')),
    h('li', {}, t('proc.step_pay')),
  );
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

// A question in front of the page. An answer is [kind, text, act]; without an act, and with Escape, nothing happens.
export function ask({ role = null, title, why }, ...answers) {
  const dialog = byId('ask');
  const opener = document.activeElement;
  const end = (act) => () => {
    dialog.close();
    act ? act() : opener?.focus();
  };
  const buttons = answers.map(([kind, words, act]) =>
    h('button', { type: 'button', class: kind, onclick: end(act) }, words),
  );
  setAttribute(dialog, 'role', role);
  dialog.replaceChildren(
    h(
      'div',
      { class: 'stack' },
      h('h2', { id: 'ask-title' }, title),
      h('p', {}, why),
      h('div', { class: 'actions' }, ...buttons),
    ),
  );
  dialog.showModal();
}
const askRelease = () =>
  ask(
    { title: t('hold.release_ask'), why: t('hold.release_why') },
    ['primary', t('hold.keep')],
    ['danger', t('hold.release'), release],
  );
function holdView() {
  const time = deadline();
  return {
    nodes: [
      h(
        'div',
        { class: 'panel one' },
        heading(t('hold.title')),
        orderFacts(),
        time.root,
        h(
          'div',
          { class: 'actions' },
          button('primary', t('pay.title'), startPayment),
          button('quiet', t('hold.release'), askRelease),
        ),
        codeLine(),
      ),
    ],
    update() {
      time.update();
    },
  };
}
function payView() {
  const time = deadline();
  const refusal = h('p', { class: 'notice bad' });
  const outcome = (value, checked) =>
    h(
      'label',
      { class: 'choice' },
      h('input', { type: 'radio', name: 'outcome', value, checked }),
      h('span', { class: 'words' }, t(`pay.${value}`)),
    );
  const form = h(
    'fieldset',
    { class: 'choices' },
    h('legend', {}, t('pay.outcome')),
    outcome('approve', true),
    outcome('decline', false),
    outcome('slow', false),
    outcome('twice', false),
  );
  return {
    nodes: [
      h(
        'div',
        { class: 'panel one' },
        heading(t('pay.title')),
        refusal,
        orderFacts(),
        time.root,
        h('p', { class: 'test' }, t('pay.test')),
        form,
        h(
          'div',
          { class: 'actions' },
          button('primary', t('pay.button', { amount: money(model.order.amount) }), () =>
            completePayment(form.querySelector(':checked').value),
          ),
          button('quiet', t('pay.back'), () => {
            Object.assign(model, { payment: null, payRefused: false, acted: true });
            show();
          }),
        ),
        codeLine(),
      ),
    ],
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
  const again = button('quiet', t('pay.again'), () => {
    setConfirming(null);
    model.acted = true;
    show();
  });
  return {
    nodes: [
      h(
        'div',
        { class: 'panel one' },
        heading(t('pay.confirming_title')),
        h('p', { class: 'spin row', 'aria-hidden': 'true' }),
        lead,
        orderFacts(),
        time.root,
        h('div', { class: 'actions' }, again),
        codeLine(),
      ),
    ],
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
    nodes: [
      h(
        'div',
        { class: 'panel one' },
        h('div', { class: 'mark', 'aria-hidden': 'true' }, '✓'),
        heading(t('done.title')),
        h('p', { class: 'lead' }, model.sale.title),
        h(
          'dl',
          { class: 'facts' },
          ...boughtFacts(order),
          ...(order.amount ? fact(t('order.amount'), money(order.amount), 'strong') : []),
          ...(order.paidAt
            ? fact(
                t('order.paid_at'),
                `${dateFormat.format(at(order.paidAt))}, ${secondFormat.format(at(order.paidAt))} (${zoneLabel})`,
              )
            : []),
          ...fact(t('order.id'), order.orderId, 'mono'),
        ),
        h(
          'div',
          { class: 'actions' },
          button('primary', t('done.print'), () => window.print()),
          button('quiet', t('order.back'), leaveOrder),
        ),
        codeLine(),
      ),
    ],
    update() {},
  };
}
export function endView(screen) {
  const titles = {
    X1: 'hold.expired_title',
    X2: 'already.title',
    X3: 'hold.released_title',
    P5: 'proc.void_title',
    D4: 'refund.title',
  };
  const see = screen === 'X2' && (model.already.orderId ?? model.me?.orders[0]?.orderId);
  return {
    nodes: [
      h(
        'div',
        { class: 'panel one' },
        h(
          'div',
          { class: `mark ${screen === 'X1' || screen === 'P5' ? 'bad' : 'plain'}`, 'aria-hidden': 'true' },
          screen === 'X2' ? '✓' : '–',
        ),
        heading(t(titles[screen])),
        h('p', { class: 'lead' }, sentence(screen)),
        screen !== 'X2' && orderFacts(),
        h(
          'div',
          { class: 'actions' },
          see &&
            button('primary', t('already.see'), () => {
              model.acted = true;
              focusOrder({ orderId: see, status: 'PENDING' });
            }),
          button(see ? 'quiet' : 'primary', t('order.back'), leaveOrder),
        ),
        screen !== 'X2' && codeLine(),
      ),
    ],
    update() {},
  };
}

export const kViews = {
  loading: loadingView,
  nosale: noSaleView,
  P2: waitView,
  P3: waitView,
  P4: waitView,
  E3: waitView,
  E4: waitView,
  R1: holdView,
  R2: holdView,
  Y1: payView,
  Y4: payView,
  Y2: confirmView,
  D1: doneView,
  X1: endView,
  X2: endView,
  X3: endView,
  P5: endView,
  D4: endView,
};
