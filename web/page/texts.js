// What the page says: every sentence, and how money, dates and remaining time are written.

// One sentence a state; where there are two forms they are one and other.
const texts = {
  'shop.name': 'Flash sales',
  'list.title': 'Sales',
  'list.empty': 'There is no sale at the moment.',
  'list.all': 'All sales',
  'sale.loading': 'One moment',
  'sale.none': 'We cannot find that sale.',
  'sale.opens': 'Opens',
  'sale.ends': 'Ends',
  'sale.opens_in': 'Opens in',
  'sale.opens_spoken': 'Opens in {time}',
  'sale.about': 'about {time}',
  'sale.when': '{date}, {clock} ({zone})',
  'sale.opening': 'Opening now…',
  'sale.clock_off': "Your device's clock is off by {time}. The time shown here is right.",
  'sale.no_refresh': 'No need to refresh. The button turns on by itself.',
  'sale.sign_in_first': 'Sign in now so that you are ready.',
  'sale.is_open': 'The sale is open.',
  'sale.paused': 'The sale is paused. Nobody loses a place or a reservation.',
  'sale.ended': 'This sale ended on {date} at {clock} ({zone}).',
  'sale.ended_now': 'This sale has ended.',
  'sale.waiting_room': 'This sale has a waiting room. Please enter it on the page of the shop.',
  'state.S': 'Not open yet',
  'state.OPEN': 'Open',
  'state.AVAILABLE': 'Available',
  'state.ALL_HELD': 'All reserved',
  'state.SOLD_OUT': 'Sold out',
  'state.PAUSED': 'Paused',
  'state.CLOSED': 'Ended',
  'state.WAITING_ROOM': 'Waiting room',
  'avail.free': ['{n} unit left', '{n} units left'],
  'avail.all_held': 'Everything is reserved right now. Up to {n} may come back until {clock}.',
  'avail.all_held_open': 'Everything is reserved right now. Units that are not paid for come back.',
  'avail.turns_on': 'Refreshing does not help. If one comes back, the button turns on by itself.',
  'avail.sold_out': 'Sold out. Everything has been paid for.',
  'avail.age': ['Updated {n} second ago', 'Updated {n} seconds ago'],
  'buy.button': 'Buy now',
  'buy.opens': 'Buy – opens {clock}',
  'buy.early': 'Not open yet. Opens in {time}.',
  'buy.armed': 'Your press counts. Sending…',
  'buy.limit': 'Limit',
  'buy.limit_each': '{n} per person',
  'buy.which': 'Which one?',
  'buy.many': 'How many?',
  'buy.fewer': 'One fewer',
  'buy.more': 'One more',
  'buy.total': 'Total',
  'buy.left': ['You can still buy {n} in this sale.', 'You can still buy {n} in this sale.'],
  'buy.note': 'Nothing is charged when you press. You get time to pay.',
  'buy.note_for': [
    'Held for you {n} minute to pay. Nothing is charged yet.',
    'Held for you {n} minutes to pay. Nothing is charged yet.',
  ],
  'pick.title': ['Pick a number', 'Pick up to {n} numbers'],
  'pick.bought': 'You have already bought the limit in this sale.',
  'pick.not_yet': 'Picking holds nothing yet. A number is yours once you have pressed Buy and we have reserved it.',
  'pick.none': 'Pick a number first, or buy a random one.',
  'pick.find': 'Find a number',
  'pick.take': 'Pick it',
  'pick.looking': 'Looking for {label}…',
  'pick.is_free': '{label} is free.',
  'pick.is_yours': '{label} is on your list.',
  'pick.is_taken': '{label} is taken.',
  'pick.is_taken_next': '{label} is taken. The next free one is {next}.',
  'pick.is_none': '“{label}” is not a number of this item. It has {first} to {last}.',
  'pick.random': ['Buy a random one', 'Buy {n} random ones'],
  'pick.random_many': 'No wish? We pick from what is free:',
  'pick.range': '{from} to {to}',
  'pick.grid': 'Numbers {from} to {to}',
  'pick.free': ['{n} free', '{n} free'],
  'pick.earlier': 'Earlier numbers',
  'pick.later': 'Later numbers',
  'pick.next_free': 'Go to the next free one',
  'pick.nothing_free': 'We found nothing free there. Press again to look further.',
  'pick.unknown': 'One moment…',
  'cell.free': '{label}, free',
  'cell.yours': '{label}, yours',
  'cell.taken': '{label}, taken',
  'cell.unknown': '{label}, one moment',
  'legend.free': 'free',
  'legend.yours': 'yours',
  'legend.taken': 'taken',
  'pick.list': 'Your numbers',
  'pick.count': '{n} of {most}',
  'pick.added': '{label}, yours. {n} of {most}.',
  'pick.dropped': '{label} is off your list. {n} of {most}.',
  'pick.drop': 'Remove {label}',
  'pick.gone': 'taken',
  'pick.full': ['You can buy {n}. Remove the other one first.', 'You can buy {n}. Remove one first.'],
  'pick.buy': ['Buy {n} number', 'Buy {n} numbers'],
  'pick.lost': ['{labels} was taken a moment ago.', '{labels} were taken a moment ago.'],
  'pick.left': ['You have {n} number on your list.', 'You have {n} numbers on your list.'],
  'pick.none_left': 'Nothing that you picked is left.',
  'pick.keep_ask': ['Keep the other one?', 'Keep the other {count}?'],
  'pick.keep_why': 'Still there a moment ago: {labels}. Nothing is reserved until you say so.',
  'pick.keep': ['Keep the other one', 'Keep the others'],
  'pick.again': 'Choose again',
  'pick.all_why': 'You were not charged. A random one is the surest way: we pick only from what is free.',
  'count.words': 'no one two three four five six seven eight nine ten',
  'list.more': '{n} more',
  'how.title': 'What happens when you buy',
  'how.1': 'You press Buy. One press is enough: pressing twice never buys twice.',
  'how.2': 'We reserve for you, and you get time to pay. The deadline is shown all the time.',
  'how.3': 'You pay, and it is yours. What is not paid in time goes to the next person.',
  'how.4': 'You may close this page at any time. Your order belongs to your account, not to this page.',
  'proc.title': 'Your request is in',
  'proc.checking': 'We are checking',
  'proc.wait': 'Please wait a moment',
  'proc.sending': 'Sending your request…',
  'proc.working': 'Your request is in. We are reserving for you. You have not been charged.',
  'proc.slow': 'This takes longer than usual. Your request is safe; you may close this page.',
  'proc.unknown': 'We do not know yet whether your request arrived. We are checking.',
  'proc.void': 'We could not reserve for you after all. You were not charged.',
  'proc.void_title': 'Not reserved',
  'proc.step_sent': 'Sent',
  'proc.step_reserving': 'Reserving for you',
  'proc.step_pay': 'Pay',
  'proc.close': 'You may close this page: the order is in your account.',
  'proc.again': 'Check again',
  'hold.title': 'Reserved for you',
  'hold.by': 'Pay by {clock} ({zone})',
  'hold.pay_by': 'Pay by {clock}. Time left: {time}',
  'hold.left': 'Time left to pay',
  'hold.warn': ['{n} minute left to pay', '{n} minutes left to pay'],
  'hold.seconds': '{n} seconds left to pay',
  'hold.over': 'The time to pay is over. We are checking whether a payment arrived.',
  'hold.release': 'Give it back',
  'hold.release_ask': 'Give it back?',
  'hold.release_why': 'It goes to the next person at once. This cannot be undone.',
  'hold.keep': 'Keep it',
  'hold.released': 'You gave it back. It goes to the next person.',
  'hold.released_title': 'Given back',
  'hold.expired': 'Your time to pay ran out. No payment has reached us.',
  'hold.expired_title': 'Time ran out',
  'pay.title': 'Choose how to pay',
  'pay.test': 'TEST payment: no card and no money. Choose what the pretend bank shall do.',
  'pay.outcome': 'The pretend bank',
  'pay.approve': 'accepts the payment',
  'pay.slow': 'accepts it after five seconds',
  'pay.twice': 'accepts it and tells us twice',
  'pay.decline': 'refuses the payment',
  'pay.button': 'Pay {amount}',
  'pay.back': 'Back to the order',
  'pay.confirming_title': 'Confirming your payment',
  'pay.confirming': 'Your bank is confirming. Your reservation is kept until {clock}.',
  'pay.confirming_long': 'No answer yet. Your payment is not lost: this page notices it by itself.',
  'pay.again': 'Pay in another way',
  'pay.refused': 'The payment was refused and not charged. You can try again until {clock}.',
  'done.title': 'Paid. It is yours.',
  'done.print': 'Save or print the receipt',
  'late.refunded': 'Your payment came after the deadline and nothing was left. We are refunding {amount}.',
  'refund.title': 'Refunded',
  'refund.due': 'We are refunding {amount}.',
  'refund.done': 'We have refunded {amount}.',
  already: 'You have already bought the limit in this sale ({n}).',
  'already.title': 'Already bought',
  'already.see': 'See my order',
  'order.item': 'Item',
  'order.units': 'Quantity',
  'order.numbers': ['Number', 'Numbers'],
  'order.amount': 'Amount',
  'order.paid_at': 'Paid',
  'order.id': 'Order number',
  'order.code': 'Order {code}',
  'order.mine': 'My orders',
  'order.row': '{n} × {item}, {status}',
  'order.PENDING': 'reserved',
  'order.PAID': 'paid',
  'order.EXPIRED': 'time ran out',
  'order.CANCELLED': 'given back',
  'order.REJECTED': 'not reserved',
  'order.REFUNDED': 'refunded',
  'order.back': 'Back to the sale',
  'auth.guest': 'Sign in as a guest',
  'auth.in': 'Signed in as ',
  'auth.out': 'Sign out',
  'auth.closed': 'Please sign in on the page of the shop and come back from there.',
  'foot.times': 'All times are those of our clock, in your time zone ({zone}).',
  'err.title': 'Error:',
  'err.offline': 'You are offline. Nothing is lost; we go on when you are back.',
  'err.unreachable': 'We cannot reach the shop right now. Nothing is lost; we keep trying.',
  'err.session': 'You were signed out. Sign in again; your choice is kept.',
  'err.busy': 'Too many requests from your connection. Trying again in {n} s.',
  'err.unavailable': 'We cannot take orders for a moment. We keep trying; you need do nothing.',
  'err.later': 'We cannot take orders for a moment. Please try again a little later.',
  'err.bad': 'This request was not accepted as it is. Report number: {id}',
  'err.no_order': 'We cannot find that order in your account.',
  'unit.day': ['{n} day', '{n} days'],
  'unit.hour': ['{n} hour', '{n} hours'],
  'unit.minute': ['{n} minute', '{n} minutes'],
  'unit.second': ['{n} second', '{n} seconds'],
};

const kLocale = 'en-GB';
const plural = new Intl.PluralRules('en');
const zone = new Intl.DateTimeFormat(kLocale).resolvedOptions().timeZone ?? 'UTC';
export const zoneLabel = zone.split('/').pop().replaceAll('_', ' ');
export const dateFormat = new Intl.DateTimeFormat(kLocale, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
});
const minuteFormat = new Intl.DateTimeFormat(kLocale, { hour: '2-digit', minute: '2-digit' });
export const secondFormat = new Intl.DateTimeFormat(kLocale, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
export const numberFormat = new Intl.NumberFormat(kLocale);

export function t(key, values = {}) {
  const entry = texts[key];
  const text = Array.isArray(entry) ? entry[plural.select(values.n) === 'one' ? 0 : 1] : entry;
  return text.replace(/\{(\w+)\}/g, (_, name) =>
    typeof values[name] === 'number' ? numberFormat.format(values[name]) : String(values[name] ?? ''),
  );
}

// Small counts in words, so that they are not taken for one of the numbers that are sold.
export const counted = (n) => t('count.words').split(' ')[n] ?? numberFormat.format(n);
const kListedMax = 8;
const listFormat = new Intl.ListFormat(kLocale, { type: 'conjunction' });
export function listed(labels) {
  const more = labels.length - kListedMax;
  return listFormat.format(more > 1 ? [...labels.slice(0, kListedMax), t('list.more', { n: more })] : labels);
}

export const clockOf = (ms) => (ms % 60_000 === 0 ? minuteFormat : secondFormat).format(ms);
export const when = (key, ms) => t(key, { date: dateFormat.format(ms), clock: clockOf(ms), zone: zoneLabel });

// Minor units become money by shifting the point in the text: no fraction is ever computed.
export function money({ value, currency }) {
  try {
    const format = new Intl.NumberFormat(kLocale, { style: 'currency', currency });
    const places = format.resolvedOptions().maximumFractionDigits;
    const digits = String(value).padStart(places + 1, '0');
    return format.format(places ? `${digits.slice(0, -places)}.${digits.slice(-places)}` : digits);
  } catch {
    return `${value} ${currency}`;
  }
}

// Remaining time, rounded down. Digits for the eye, whole words for the ear.
export function digits(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  const two = (n) => String(n).padStart(2, '0');
  if (s >= 48 * 3600) return t('unit.day', { n: Math.floor(s / 86400) });
  if (s >= 3600) return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
  return `${two(Math.floor(s / 60))}:${two(s % 60)}`;
}
export function spoken(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s >= 48 * 3600) return t('unit.day', { n: Math.floor(s / 86400) });
  const parts =
    s >= 3600
      ? [
          ['hour', s / 3600],
          ['minute', (s / 60) % 60],
        ]
      : [
          ['minute', s / 60],
          ['second', s % 60],
        ];
  const said = parts.map(([unit, n]) => [unit, Math.floor(n)]).filter(([, n]) => n > 0);
  return (said.length ? said : [['second', 0]]).map(([unit, n]) => t(`unit.${unit}`, { n })).join(' ');
}
