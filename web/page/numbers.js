// The numbers of an item without a document: how they are written, which are free, which are picked, and where a grid
// of them stands. Nothing here asks a server or touches the page.

export const kPageNumbers = 65_536; // Numbers of one page of availability.
const kColumns = [10, 5, 4, 3, 2, 1]; // Widths of a grid in which people still see the tens.
const kRows = 10; // Of the grid that is shown: at most a hundred numbers are in the document.

/// How the numbers of an item are shown to people; requests know numbers only. The text is empty (the number as it
/// is), a prefix and as many # as digits are shown at least (`A-###`), or rows with seats (`A:12,B:14`).
export class Labels {
  #prefix = '';
  #digits = 0;
  #rows = []; // {name, seats, first}: first is the number of the row's first seat.

  constructor(text, { first, last }) {
    Object.assign(this, { first, last });
    if (text?.includes(':')) {
      let at = first;
      for (const row of text.split(',')) {
        const colon = row.indexOf(':');
        this.#rows.push({ name: row.slice(0, colon), seats: Number(row.slice(colon + 1)), first: at });
        at += Number(row.slice(colon + 1));
      }
    } else if (text) {
      this.#prefix = text.replace(/#*$/, '');
      this.#digits = text.length - this.#prefix.length;
    }
  }

  label(number) {
    const row = this.#rows.findLast((r) => r.first <= number);
    return row ? `${row.name}-${number - row.first + 1}` : this.#prefix + String(number).padStart(this.#digits, '0');
  }

  /// Digits are all that a label of this item needs, so a keyboard of digits will do.
  get isPlain() {
    return this.#rows.length === 0;
  }

  /// A label as wide as any.
  get widest() {
    const all = this.#rows.map((row) => `${row.name}-${row.seats}`);
    return all.reduce((a, b) => (b.length > a.length ? b : a), this.isPlain ? this.label(this.last) : '');
  }

  /// The number that somebody means, null if none of this item. Written like a label or like a number; other digits,
  /// spaces, small letters and missing or additional zeros are taken.
  find(text) {
    const plain = squeezed(text);
    const number = /^\d{1,10}$/.test(plain) ? this.#own(Number(plain)) : null;
    return number ?? (this.#rows.length ? this.#findSeat(plain) : this.#findPrefixed(plain));
  }

  #own(number) {
    return number >= this.first && number <= this.last ? number : null;
  }
  #findPrefixed(plain) {
    const digits = digitsAfter(squeezed(this.#prefix), plain);
    return digits === null ? null : this.#own(digits);
  }
  #findSeat(plain) {
    const found = this.#rows
      .map((row) => ({ row, seat: digitsAfter(squeezed(row.name), plain) }))
      .filter(({ row, seat }) => seat >= 1 && seat <= row.seats);
    // `1-12` is row 1 and not row 1-1; written without the hyphen it may be either, and then nobody knows.
    const exact = found.find(({ row, seat }) => plain === squeezed(`${row.name}-${seat}`));
    const one = exact ?? (found.length === 1 ? found[0] : null);
    return one ? this.#own(one.row.first + one.seat - 1) : null;
  }
}

const squeezed = (text) => text.normalize('NFKC').toUpperCase().replace(/\s/g, '');

/// The number that follows `head`, whose last hyphens and dots may be left out; null if there is none.
function digitsAfter(head, text) {
  const bare = head.replace(/[-._]+$/, '');
  if (bare === '' || !text.startsWith(bare)) return null;
  const rest = text.slice(bare.length).replace(/^[-._]/, '');
  return /^\d{1,10}$/.test(rest) ? Number(rest) : null;
}

/// One page of availability: a bit for each number, 1 is free, the lowest number in the highest bit of the first byte.
export class NumberPage {
  constructor(bits, first, count) {
    Object.assign(this, { bits, first, count });
  }
  /// Null when the bytes are not what the headers say.
  static read(bits, first, count) {
    const isWhole =
      Number.isInteger(first) && count > 0 && count <= kPageNumbers && bits.length === Math.ceil(count / 8);
    return isWhole ? new NumberPage(bits, first, count) : null;
  }
  has(number) {
    return number >= this.first && number < this.first + this.count;
  }
  isFree(number) {
    const at = number - this.first;
    return this.has(number) && ((this.bits[at >> 3] >> (7 - (at & 7))) & 1) === 1;
  }
  /// The lowest free number from `number` on; null if this page has none there.
  nextFree(number) {
    const end = this.first + this.count;
    for (let at = Math.max(number, this.first); at < end; ++at) {
      if (this.isFree(at)) return at;
      const isByteEmpty = ((at - this.first) & 7) === 0 && this.bits[(at - this.first) >> 3] === 0;
      if (isByteEmpty) at += 7;
    }
    return null;
  }
}

export const pageOf = (number, { first }) => Math.floor((number - first) / kPageNumbers);
export const pagesOf = ({ first, last }) => Math.ceil((last - first + 1) / kPageNumbers);

/// What a buyer picked: numbers that are his to claim, and those of them that somebody else took first.
export class Picks {
  #mine = new Set();
  #gone = new Set();
  version = 0; // Changes with every change.

  constructor(numbers = []) {
    for (const number of numbers) this.#mine.add(number);
  }
  static #sorted = (set) => [...set].sort((a, b) => a - b);
  get mine() {
    return Picks.#sorted(this.#mine);
  }
  get gone() {
    return Picks.#sorted(this.#gone);
  }
  get size() {
    return this.#mine.size;
  }
  has(number) {
    return this.#mine.has(number);
  }
  isGone(number) {
    return this.#gone.has(number);
  }
  /// Whether it is picked now; a list of `most` takes no more.
  add(number, most) {
    if (this.#mine.has(number)) return true;
    if (this.#mine.size >= most) return false;
    this.#mine.add(number);
    this.#gone.delete(number);
    ++this.version;
    return true;
  }
  drop(number) {
    if (this.#mine.delete(number) || this.#gone.delete(number)) ++this.version;
  }
  /// Marks what somebody else took, and gives back those that were picked until now. A mark stays until it is dropped:
  /// what comes back is not picked again unasked.
  lose(isTaken) {
    const lost = this.mine.filter(isTaken);
    for (const number of lost) {
      this.#mine.delete(number);
      this.#gone.add(number);
    }
    if (lost.length) ++this.version;
    return lost;
  }
  clear() {
    this.#mine.clear();
    this.#gone.clear();
    ++this.version;
  }
}

/// As many columns as fit, so that a cell has its width and the gap is between them.
export const columnsFor = (width, cell, gap) => kColumns.find((n) => n * (cell + gap) - gap <= width) ?? 1;

/// The numbers that the grid shows when it stands at `number`: whole rows, counted from the item's first number.
export function windowAt(number, { first, last }, columns) {
  const size = columns * kRows;
  const from = number - ((number - first) % size);
  return { from, to: Math.min(from + size - 1, last), size };
}

/// Where a key leads from `number`; null if it is no key of the grid.
export function afterKey({ key, ctrlKey }, number, { first, last }, columns) {
  const rowStart = number - ((number - first) % columns);
  const size = columns * kRows;
  const within = (to) => (to >= first && to <= last ? to : number);
  switch (key) {
    case 'ArrowLeft':
      return within(number - 1);
    case 'ArrowRight':
      return within(number + 1);
    case 'ArrowUp':
      return within(number - columns);
    case 'ArrowDown':
      return within(number + columns);
    case 'Home':
      return ctrlKey ? first : rowStart;
    case 'End':
      return ctrlKey ? last : Math.min(rowStart + columns - 1, last);
    case 'PageUp':
      return Math.max(number - size, first);
    case 'PageDown':
      return Math.min(number + size, last);
    default:
      return null;
  }
}
