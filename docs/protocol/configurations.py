"""Which models are explored: configurations that must hold, and mutants that must be caught."""

# buyers=(0, 0, 1, 2): four claim ids, the first two of one buyer. total = units. sleepers = how many of the api slots,
# workers, releaser and settle may be asleep in the middle of their work at one moment; any number of further ones work
# or crash between the atomic steps without sleeping. epochs = builds of the gate under faults (one more when calm).
CONFIGS = [
    dict(name='sale: 3 buyers + a new key, 2 units', buyers=(0, 0, 1, 2), total=2, failover=False, epochs=1,
         sleepers=2),
    dict(name='sale: 3 buyers, 2 units, all sleep', buyers=(0, 1, 2), total=2, failover=False, epochs=1),
    dict(name='rebuild: 3 buyers, 2 units', buyers=(0, 1, 2), total=2, failover=False, epochs=2, sleepers=1),
    dict(name='rebuild: 2 buyers, 1 unit, all sleep', buyers=(0, 1), total=1, failover=False, epochs=2),
    dict(name='rebuild: log of 3, 2 buyers, 1 unit', buyers=(0, 1), total=1, failover=False, epochs=2, log_max=3,
         sleepers=1),
    dict(name='two builders, 3 epochs, 2 buyers, 1 unit', buyers=(0, 1), total=1, failover=False, epochs=3, builders=2,
         sleepers=1),
    dict(name='failover, split brain: 3 buyers, 2 units', buyers=(0, 1, 2), total=2, epochs=2, slots=1, sleepers=0),
    dict(name='failover, split brain: 2 buyers, 1 unit', buyers=(0, 1), total=1, epochs=2, sleepers=2),
    dict(name='failover, split brain: new key, last unit', buyers=(0, 0, 1), total=1, epochs=2, slots=1, sleepers=0),
    dict(name='numbers: 3 buyers, numbers 0 and 1', buyers=(0, 1, 2), total=2, numbered=True, failover=False, epochs=2,
         slots=1, sleepers=1),
    dict(name='numbers: failover, 2 buyers, 2 numbers', buyers=(0, 1), total=2, numbered=True, epochs=2, slots=1,
         sleepers=1),
    dict(name='not pinned, suffix lost: 2 buyers, 1 unit', buyers=(0, 1), total=1, pin=False, epochs=2, sleepers=1),
    dict(name='not pinned, suffix lost: 2 numbers', buyers=(0, 1), total=2, numbered=True, pin=False, epochs=2,
         slots=1, sleepers=0),
    dict(name='late money: 2 buyers, 1 unit', buyers=(0, 0, 1), total=1, failover=False, epochs=2, slots=1, sleepers=1,
         late={1: 0}),
]
DEEP = [                                      # several minutes each
    dict(name='rebuild: 3 buyers, 2 units, 2 asleep', buyers=(0, 1, 2), total=2, failover=False, epochs=2, sleepers=2),
    dict(name='rebuild: 3 buyers + a new key, 2 units', buyers=(0, 0, 1, 2), total=2, failover=False, epochs=2,
         slots=1, sleepers=1),
    dict(name='split brain: 3 buyers, 2 units, 1 asleep', buyers=(0, 1, 2), total=2, epochs=2, slots=1, sleepers=1),
]

_QUICK_NAMES = (                              # the small ones
    'rebuild: log of 3, 2 buyers, 1 unit',
    'failover, split brain: new key, last unit',
    'not pinned, suffix lost: 2 numbers',
    'late money: 2 buyers, 1 unit',
)
QUICK = [options for options in CONFIGS if options['name'] in _QUICK_NAMES]

TWO = dict(buyers=(0, 1), total=1, failover=False, epochs=2, slots=1, sleepers=1)
ONE = dict(buyers=(0, 0), total=1, failover=False, epochs=2, slots=1, sleepers=1)
MUTANTS = {                                   # each breaks one rule and must be caught
    'release_by_count': (TWO, 'the release adds a unit without looking whether the id is held'),
    'release_before_commit': (TWO, 'the expirer releases first, then its commit fails'),
    'no_epoch_check': (TWO, 'release and outbox removal ignore epoch and gate state'),
    'void_on_ambiguous_publish': (TWO, 'a publish without an answer is given back'),
    'offset_before_work': (TWO, 'the offset is committed before the order is'),
    'adopt_without_checks': (TWO, 'a straggler is adopted whatever is free'),
    'unique_over_all_rows': (ONE, 'one order a buyer over all rows instead of the live ones'),
    'straggler_ledger_first': (TWO, 'a straggler is recorded without asking the gate'),
    'record_not_fenced': (dict(TWO, epochs=3, buyers=(0, 1, 2)), 'adopted at one epoch, recorded at another'),
    'drain_records_all': (dict(TWO, failover=True), 'the drain records claims older than the last open epoch'),
    'outbox_not_fenced': (TWO, 'the outbox row goes although the epoch moved after the release ran'),
    'snapshot_outside': (TWO, 'snapshot and OPEN in two transactions'),
    'gate_opened_first': (TWO, 'the gate opens before the ledger says OPEN'),
    'confirm_before_commit': (TWO, 'inflight is cleared before the commit'),
    'adopt_not_inflight': (TWO, 'an adopted straggler is not put into inflight'),
    'ended_duplicate_ignored': (TWO, 'a message for an ended order releases nothing, ended ids are not rebuilt'),
    'no_tombstones': (TWO, 'the gate forgets ended ids'),
    'other_contents_skipped': (dict(next(c for c in CONFIGS if c['name'].startswith('numbers: failover')), sleepers=0),
                               'a straggler whose id is held with another number is skipped'),
    'retake_ledger_first': (dict(CONFIGS[-1]), 'late money retakes in the ledger without asking the gate'),
    'unpinned': (dict(TWO, failover=True, pin=False), 'a promoted replica goes on selling'),
}
SPARE = {                                     # not needed for safety: the checker passes without them
    'tombstones_not_rebuilt': (TWO, 'a new build starts without the ended ids of the ledger'),
    'ended_duplicate_alone': (TWO, 'a message for an ended order releases nothing, ended ids are rebuilt'),
    'no_drain': (TWO, 'the builder does not wait for the high-water mark (safe, but refuses more 202s)'),
    'confirm_any_epoch': (TWO, 'the confirm script does not look at the epoch'),
}
