// The picker of a numbered item: finds, shows and collects numbers. It holds nothing: a number is the buyer's when the
// server has said so. Only what stands in the window of the grid is in the document, whatever the item has.

import { afterKey, columnsFor, Labels, NumberPage, pageOf, pagesOf, Picks, windowAt } from './numbers.js';
import { counted, listed, money, numberFormat, t } from './texts.js';
import { at, call, h, pause, Poller, setAttribute, setText, show, speech, tabStore } from './tools.js';
import { claim, mayBuy, model, pressBuy } from './flow.js';
import { ask } from './views.js';

const kGapPx = 4; // Between cells, as the style sheet has it.
const kCellMinPx = 44;
const kPadPx = 7; // Of a cell, both sides together.
const kGapMs = { O1: 4_000, O5: 10_000 }; // How often the shown page is asked for; not at all on other screens.
const kStaleMs = 10_000;
const kTypingMs = 250; // A number is asked for when the typing rests.
const kPagesKept = 32;
const kPagesSearchedMax = 8; // For one press, in search of something free.
const kLoadTries = 4; // Of a page that somebody waits for; after that the next poll brings it.

/// What is known of one item's numbers, what is picked, and where the grid stands.
class Shelf {
  constructor(item) {
    this.item = item;
    this.range = item.numbers;
    this.labels = new Labels(item.labels, item.numbers);
    this.cursor = item.numbers.first;
    this.columns = 5;
    this.version = 0; // Changes with every page that says something new.
    this.hasMoved = false;
    this.found = null; // The number that is typed into the field.
    this.said = ''; // Why the last press did nothing.
    this.pages = new Map();
    this.coming = new Map();
    this.poller = new Poller(
      () => this.#askShown(),
      () => (model.claim ? null : (kGapMs[model.screen] ?? null)),
    );
    model.picks.set(item.itemId, this.#kept());
  }
  get picks() {
    return model.picks.get(this.item.itemId);
  }
  #kept() {
    try {
      const { first, last } = this.range;
      const kept = JSON.parse(tabStore.get(`picks.${this.item.itemId}`)) ?? [];
      return new Picks(kept.filter((n) => Number.isInteger(n) && n >= first && n <= last));
    } catch {
      return new Picks();
    }
  }
  keep() {
    tabStore.set(`picks.${this.item.itemId}`, JSON.stringify(this.picks.mine));
  }
  label(number) {
    return this.labels.label(number);
  }
  refuse(why) {
    this.said = why;
    speech.say(why);
    show();
  }
  get window() {
    return windowAt(this.cursor, this.range, this.columns);
  }
  page(number) {
    return this.pages.get(pageOf(number, this.range));
  }
  /// yours, taken, free, or unknown while the page is on its way.
  stateOf(number) {
    if (this.picks.has(number)) return 'yours';
    const page = this.page(number);
    if (!page) return 'unknown';
    return page.isFree(number) && !this.picks.isGone(number) ? 'free' : 'taken';
  }
  #shownPages() {
    const { from, to } = this.window;
    return [...new Set([pageOf(from, this.range), pageOf(to, this.range)])];
  }
  get isStale() {
    return model.screen === 'O1' && this.ageMs > kStaleMs;
  }
  /// Of the oldest page that is shown; one that is not there yet has none.
  get ageMs() {
    const read = this.#shownPages().map((k) => this.pages.get(k)?.readAt ?? performance.now());
    return performance.now() - Math.min(...read);
  }
  moveTo(number) {
    this.cursor = number;
    this.hasMoved = true;
    this.fetchShown();
    show();
  }
  fetchShown() {
    for (const k of this.#shownPages()) if (!this.pages.has(k)) this.fetch(k);
  }
  /// What is shown is asked for when it is missing, and when it is older than this screen wants it.
  freshen() {
    this.fetchShown();
    const gapMs = this.poller.gapMs();
    if (gapMs !== null && this.ageMs > gapMs) this.poller.now();
    else this.poller.plan();
  }
  /// The page, once it is there; what is asked for twice is asked once.
  fetch(k) {
    if (!this.coming.has(k))
      this.coming.set(
        k,
        this.#insist(k).finally(() => this.coming.delete(k)),
      );
    return this.coming.get(k);
  }
  async #insist(k) {
    for (let i = 0; i < kLoadTries; ++i) {
      const answer = await this.#ask(k);
      if (answer.status === 200) break;
      await pause(Math.max(answer.retryAfterMs, 1000 * 2 ** i * (0.5 + Math.random())));
    }
    return this.pages.get(k);
  }
  async #askShown() {
    let worst = { status: 200, retryAfterMs: 0 };
    for (const k of this.#shownPages()) {
      const answer = await this.#ask(k);
      if (answer.status !== 200) worst = answer;
    }
    return worst;
  }
  async #ask(k) {
    const path = `/api/flash-sales/items/${encodeURIComponent(this.item.itemId)}/numbers?page=${k}`;
    const answer = await call('GET', path, { bytes: true });
    if (answer.status === 200) this.#adopt(k, answer);
    show();
    return answer;
  }
  #adopt(k, { body, headers }) {
    const before = this.pages.get(k);
    const tag = headers.get('ETag');
    const asOf = at(headers.get('X-As-Of'));
    if (before && tag === before.tag) return void (before.readAt = performance.now());
    if (before && asOf < before.asOf) return; // Another cache, with an older copy.
    const page = NumberPage.read(body, Number(headers.get('X-First-Number')), Number(headers.get('X-Count')));
    if (!page) return void console.warn('a page of numbers is not what its headers say', k);
    this.pages.delete(k);
    this.pages.set(k, Object.assign(page, { tag, asOf, readAt: performance.now() }));
    for (const old of [...this.pages.keys()].slice(0, -kPagesKept)) this.pages.delete(old);
    ++this.version;
    this.#openWhereSomethingIsFree(page);
    this.#checkPicks(page);
  }
  #openWhereSomethingIsFree(page) {
    if (this.hasMoved) return;
    this.hasMoved = true;
    this.cursor = page.nextFree(this.cursor) ?? this.cursor;
  }
  /// While a claim is under way, what the buyer asked for may be his already.
  #checkPicks(page) {
    if (model.claim || model.order) return;
    const lost = this.picks.lose((number) => page.has(number) && !page.isFree(number));
    if (lost.length === 0) return;
    this.keep();
    const left = this.picks.size ? t('pick.left', { n: this.picks.size }) : t('pick.none_left');
    speech.say(`${lostText(this, lost)} ${left}`, true);
  }
  /// The next free number behind the window, within a bounded search that goes round; null if it met none.
  async nextFree() {
    let { to } = this.window;
    const { first, last } = this.range;
    const pages = pagesOf(this.range);
    for (let i = 0; i <= Math.min(pages, kPagesSearchedMax); ++i) {
      const from = to < last ? to + 1 : first;
      const k = pageOf(from, this.range);
      const page = this.pages.get(k) ?? (await this.fetch(k));
      if (!page) return null;
      const found = page.nextFree(from);
      if (found !== null) return found;
      to = page.first + page.count - 1;
    }
    this.cursor = to;
    return null;
  }
}

const lostText = (shelf, lost) =>
  t('pick.lost', { n: lost.length, labels: listed(lost.map((number) => shelf.label(number))) });

/// Picks or drops; what cannot be picked says why.
function toggle(shelf, number) {
  if (model.claim) return;
  const { picks } = shelf;
  const label = shelf.label(number);
  const most = mayBuy();
  const state = shelf.stateOf(number);
  if (state === 'yours') picks.drop(number);
  else if (state === 'taken') return shelf.refuse(t('pick.is_taken', { label }));
  else if (state === 'unknown') return shelf.refuse(t('pick.looking', { label }));
  else if (!picks.add(number, most)) return shelf.refuse(most ? t('pick.full', { n: most }) : t('pick.bought'));
  shelf.said = '';
  shelf.keep();
  speech.say(t(state === 'yours' ? 'pick.dropped' : 'pick.added', { label, n: picks.size, most }));
  show();
}

// ---- The parts, each with a root and an update. ----

function findPart(shelf) {
  const field = h('input', { type: 'text', id: 'find', autocomplete: 'off', spellcheck: 'false', maxlength: '40' });
  field.setAttribute('inputmode', shelf.labels.isPlain ? 'numeric' : 'text');
  field.setAttribute('aria-describedby', 'found');
  const take = h('button', { type: 'submit' }, t('pick.take'));
  const found = h('output', { id: 'found', for: 'find', class: 'small' });
  let timer = 0;
  const meant = () => shelf.labels.find(field.value);
  const goThere = () => {
    clearTimeout(timer);
    if (meant() !== null && meant() !== shelf.cursor) shelf.moveTo(meant());
  };
  field.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(goThere, kTypingMs);
    show();
  });
  const form = h(
    'form',
    { class: 'find' },
    h('label', { for: 'find' }, t('pick.find')),
    h('div', {}, field, take),
    found,
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const number = meant();
    if (number === null) return field.focus();
    goThere();
    if (!shelf.page(number)) await shelf.fetch(pageOf(number, shelf.range));
    if (shelf.stateOf(number) !== 'yours') toggle(shelf, number);
    field.select();
  });
  return {
    root: form,
    field,
    update() {
      const text = field.value.trim();
      shelf.found = meant();
      setText(found, text === '' ? '' : foundText(shelf, meant(), text));
      setAttribute(field, 'aria-invalid', text !== '' && meant() === null ? 'true' : null);
    },
  };
}
function foundText(shelf, number, text) {
  const { first, last } = shelf.range;
  if (number === null) return t('pick.is_none', { label: text, first: shelf.label(first), last: shelf.label(last) });
  const label = shelf.label(number);
  const state = shelf.stateOf(number);
  if (state === 'unknown') return t('pick.looking', { label });
  if (state !== 'taken') return t(`pick.is_${state}`, { label });
  const next = shelf.page(number)?.nextFree(number + 1) ?? null;
  return t(next === null ? 'pick.is_taken' : 'pick.is_taken_next', { label, next: next && shelf.label(next) });
}

function randomPart() {
  let many = 1;
  const buy = h('button', { type: 'button', onclick: () => pressBuy({ random: many }) });
  const count = h('output', { 'aria-live': 'polite' });
  const step = (name, sign, by) => {
    const press = () => {
      many += by;
      show();
    };
    return h('button', { type: 'button', 'aria-label': t(name), onclick: press }, sign);
  };
  const stepper = h('div', { class: 'stepper', role: 'group', 'aria-label': t('buy.many') });
  stepper.append(step('buy.fewer', '−', -1), count, step('buy.more', '+', 1));
  return {
    root: h('div', { class: 'random' }, h('p', { class: 'small muted' }, t('pick.random_many')), stepper, buy),
    update(screen) {
      const most = mayBuy();
      many = Math.max(1, Math.min(many, most));
      stepper.hidden = most < 2;
      setText(count, numberFormat.format(many));
      setText(buy, t('pick.random', { n: many }));
      setAttribute(buy, 'aria-disabled', screen === 'O1' && !model.claim ? null : 'true');
    },
  };
}

function pagerPart(shelf) {
  const where = h('p', { id: 'window' });
  const step = (name, sign, key) =>
    h(
      'button',
      {
        type: 'button',
        'aria-label': t(name),
        onclick: () => shelf.moveTo(afterKey({ key }, shelf.window.from, shelf.range, shelf.columns)),
      },
      sign,
    );
  const earlier = step('pick.earlier', '‹', 'PageUp');
  const said = h('p', { class: 'small said' });
  const later = step('pick.later', '›', 'PageDown');
  const next = h('button', { type: 'button', class: 'quiet' }, t('pick.next_free'));
  next.addEventListener('click', async () => {
    const found = await shelf.nextFree();
    shelf.said = '';
    if (found === null) shelf.refuse(t('pick.nothing_free'));
    shelf.moveTo(found ?? shelf.cursor);
  });
  return {
    root: h('div', { class: 'pager' }, earlier, where, later, next, said),
    update() {
      setText(said, shelf.said);
      said.hidden = shelf.said === '';
      const { from, to } = shelf.window;
      let free = 0;
      for (let number = from; number <= to; ++number) free += shelf.page(number)?.isFree(number) ? 1 : 0;
      const range = t('pick.range', { from: shelf.label(from), to: shelf.label(to) });
      const isKnown = shelf.page(from) && shelf.page(to);
      const age = shelf.isStale && t('avail.age', { n: Math.floor(shelf.ageMs / 1000) });
      setText(where, `${range} · ${age || (isKnown ? t('pick.free', { n: free }) : t('pick.unknown'))}`);
      setAttribute(earlier, 'aria-disabled', from === shelf.range.first ? 'true' : null);
      setAttribute(later, 'aria-disabled', to === shelf.range.last ? 'true' : null);
      next.hidden = !isKnown || free > 0;
    },
  };
}

/// A grid of buttons with one stop for Tab. Its nodes are made once for a width and tell other numbers afterwards.
function gridPart(shelf, toField) {
  const grid = h('div', { role: 'grid', class: 'grid' });
  const probe = h('span', { class: 'probe', 'aria-hidden': 'true' }, shelf.labels.widest);
  const root = h('div', { class: 'window' }, probe, grid);
  let cells = [];
  let painted = '';
  const numberOf = (node) => shelf.window.from + cells.findIndex((cell) => cell.button === node);
  const build = () => {
    cells = [];
    const rows = Array.from({ length: shelf.window.size / shelf.columns }, () => {
      const row = h('div', { role: 'row' });
      for (let column = 1; column <= shelf.columns; ++column) {
        const button = h('button', { type: 'button', tabindex: '-1' });
        cells.push({ button, row });
        row.append(h('span', { role: 'gridcell', 'aria-colindex': column }, button));
      }
      row.style.setProperty('--columns', shelf.columns);
      return row;
    });
    grid.replaceChildren(...rows);
    setAttribute(grid, 'aria-colcount', String(shelf.columns));
  };
  const fit = () => {
    const columns = columnsFor(root.clientWidth, Math.max(kCellMinPx, probe.offsetWidth + kPadPx), kGapPx);
    if (root.clientWidth === 0 || (columns === shelf.columns && cells.length)) return;
    const hadFocus = grid.contains(document.activeElement);
    shelf.columns = columns;
    build();
    shelf.fetchShown();
    show();
    if (hadFocus) focusCursor();
  };
  const focusCursor = () => cells[shelf.cursor - shelf.window.from]?.button.focus();
  grid.addEventListener('click', ({ target }) => {
    const node = target.closest('button');
    if (!node) return;
    shelf.cursor = numberOf(node);
    shelf.hasMoved = true;
    toggle(shelf, shelf.cursor);
    show();
  });
  grid.addEventListener('keydown', (event) => {
    if (event.altKey || event.metaKey) return;
    if (event.key === 'Escape' || (/^\d$/.test(event.key) && !event.ctrlKey)) {
      if (event.key === 'Escape') event.preventDefault();
      return toField(event.key !== 'Escape');
    }
    const number = afterKey(event, shelf.cursor, shelf.range, shelf.columns);
    if (number === null) return;
    event.preventDefault();
    shelf.moveTo(number);
    focusCursor();
  });
  new ResizeObserver(fit).observe(root);
  new ResizeObserver(fit).observe(probe);
  return {
    root,
    update() {
      if (cells.length === 0) return;
      const { from, to } = shelf.window;
      const key = [from, to, shelf.columns, shelf.cursor, shelf.version, shelf.picks.version, shelf.found].join();
      root.classList.toggle('stale', shelf.isStale);
      if (key === painted) return;
      painted = key;
      paint(shelf, grid, cells);
    },
  };
}
function paint(shelf, grid, cells) {
  const { from, to } = shelf.window;
  const { first, last } = shelf.range;
  setAttribute(grid, 'aria-rowcount', String(Math.ceil((last - first + 1) / shelf.columns)));
  setAttribute(grid, 'aria-label', t('pick.grid', { from: shelf.label(from), to: shelf.label(to) }));
  cells.forEach(({ button, row }, i) => {
    const number = from + i;
    row.hidden = from + i - (i % shelf.columns) > to;
    setAttribute(row, 'aria-rowindex', String((from + i - (i % shelf.columns) - first) / shelf.columns + 1));
    button.parentNode.hidden = number > to;
    if (number > to) return;
    const state = shelf.stateOf(number);
    const label = shelf.label(number);
    setText(button, label);
    setAttribute(button, 'class', state);
    setAttribute(button, 'aria-label', t(`cell.${state}`, { label }));
    setAttribute(button, 'aria-current', number === shelf.found ? 'true' : null);
    setAttribute(button, 'aria-pressed', String(state === 'yours'));
    setAttribute(button, 'aria-disabled', state === 'taken' || state === 'unknown' ? 'true' : null);
    setAttribute(button, 'tabindex', number === shelf.cursor ? '0' : '-1');
  });
}
const legend = () =>
  h(
    'p',
    { class: 'legend small muted', 'aria-hidden': 'true' },
    ...['free', 'yours', 'taken'].map((state) =>
      h('span', {}, h('i', { class: state }, state === 'yours' && '✓'), t(`legend.${state}`)),
    ),
  );

/// What is picked, what of it was lost, and what it costs.
function listPart(shelf) {
  const title = h('h2', { tabindex: '-1' }, t('pick.list'));
  const count = h('span', { class: 'muted' });
  const list = h('ul', { class: 'chips' });
  const lost = h('p', { class: 'notice warn' });
  const total = h('span', { class: 'total' });
  const sum = h('div', { class: 'row' }, h('span', {}, t('buy.total')), total);
  let painted = '';
  const chip = (number) => {
    const isGone = shelf.picks.isGone(number);
    const label = shelf.label(number);
    const drop = () => {
      const place = [...list.children].findIndex((node) => node.contains(document.activeElement));
      shelf.picks.drop(number);
      shelf.keep();
      speech.say(t('pick.dropped', { label, n: shelf.picks.size, most: mayBuy() }));
      show();
      (list.children[Math.min(place, list.children.length - 1)]?.firstChild ?? title).focus();
    };
    const words = h('span', {}, label);
    const button = h('button', { type: 'button', class: isGone ? 'gone' : '', onclick: drop }, words);
    if (isGone) button.append(h('span', { class: 'small' }, t('pick.gone')));
    button.append(h('span', { 'aria-hidden': 'true' }, '✕'));
    const state = isGone ? ` (${t('pick.gone')})` : '';
    button.setAttribute('aria-label', t('pick.drop', { label: label + state }));
    return h('li', {}, button);
  };
  return {
    root: h(
      'section',
      { class: 'picked', 'aria-label': t('pick.list') },
      h('div', { class: 'row' }, title, count),
      lost,
      list,
      sum,
      h('p', { class: 'small muted' }, t('pick.not_yet')),
    ),
    update() {
      const { picks, item } = shelf;
      setText(count, t('pick.count', { n: picks.size, most: mayBuy() }));
      setText(total, money({ ...item.price, value: item.price.value * picks.size }));
      const { gone, mine } = picks;
      lost.hidden = gone.length === 0;
      setText(lost, gone.length ? lostText(shelf, gone) + (mine.length ? '' : ` ${t('pick.none_left')}`) : '');
      const now = `${picks.version}`;
      if (now === painted) return;
      painted = now;
      list.replaceChildren(...[...mine, ...gone].sort((a, b) => a - b).map(chip));
      list.hidden = list.children.length === 0;
    },
  };
}

/// Some of a claim were taken first, so nothing was reserved: what now?
function askAfterClash(shelf, { taken, rest }) {
  const lost = lostText(shelf, taken);
  if (rest.length === 0) {
    const random = Math.max(1, Math.min(taken.length, mayBuy()));
    return ask(
      { role: 'alertdialog', title: `${lost} ${t('pick.none_left')}`, why: t('pick.all_why') },
      ['primary', t('pick.random', { n: random }), () => claim({ random })],
      ['quiet', t('pick.again')],
    );
  }
  const labels = listed(rest.map((number) => shelf.label(number)));
  ask(
    {
      role: 'alertdialog',
      title: `${lost} ${t('pick.keep_ask', { n: rest.length, count: counted(rest.length) })}`,
      why: t('pick.keep_why', { labels }),
    },
    ['primary', t('pick.keep', { n: rest.length }), () => claim({ numbers: rest })],
    ['quiet', t('pick.again')],
  );
}

const awake = new Set(); // Shelves of pickers that are shown.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) return;
  for (const shelf of awake) setTimeout(() => shelf.freshen(), 1000 * Math.random());
});

/// The picker of an item: `root` with the grid, and `list` with what is picked.
export function makePicker(item) {
  const shelf = new Shelf(item);
  const find = findPart(shelf);
  const toField = (empty) => {
    if (empty) find.field.value = '';
    find.field.focus();
  };
  const parts = [find, randomPart(), pagerPart(shelf), gridPart(shelf, toField)];
  const list = listPart(shelf);
  const title = h('h2');
  const root = h('section', { class: 'picker' }, title, ...parts.map((part) => part.root), legend());
  let screenBefore = '';
  return {
    root,
    list: list.root,
    update(screen) {
      const most = mayBuy();
      setText(title, most ? t('pick.title', { n: most }) : t('pick.bought'));
      setAttribute(root, 'aria-label', title.textContent);
      for (const part of [...parts, list]) part.update(screen);
      if (model.clash) {
        const { clash } = model;
        model.clash = null;
        shelf.keep();
        askAfterClash(shelf, clash);
        shelf.poller.now();
      }
      if (screen === screenBefore) return;
      screenBefore = screen;
      shelf.freshen();
    },
    wake() {
      screenBefore = '';
      awake.add(shelf);
    },
    rest: () => awake.delete(shelf),
  };
}
