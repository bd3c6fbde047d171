"""The distributed protocol of README.md as a model of its states and steps. `check.py` explores it.

What is modelled
  gate     epoch, open flag, free count, and per claim id: none / held / held+inflight / ended. Scripts are atomic.
           A failover either kills the pinned instance, or leaves it isolated and still usable by those who believe in
           it (split brain), or, in the configuration without pinning, promotes a copy that lost any suffix of writes.
  api      two request slots: reserve (new, repeated, after the end), publish (acked -> 202, persisted but unanswered,
           not persisted), crash, arbitrary pause (a slot may sleep through any number of rebuilds and then publish).
  log      unconsumed suffix of one partition, bounded; equal copies standing in it at one time are merged (a copy that
           comes after the first was consumed is not: the slots and the re-driver may publish an id again and again).
  workers  two: the offset compare-and-set, the adoption of stragglers, the commit, unknown commits, the confirmation;
           a worker may sleep with a fetched message, wake as a zombie, adopt, and fail its compare-and-set.
  ledger   one row per id (the primary key), live units <= total, live units of a buyer <= limit, a number has one live
           owner, the gate row (epoch, BUILDING / OPEN, last open epoch), the outbox of releases.
  expirer  PENDING -> EXPIRED with its outbox row in one commit (a cancel is the same edge).
  settle   late money: an EXPIRED order takes a NEW hold, gate first, then the ledger decides (PAID or refund).
           PENDING -> PAID is left out: it only takes an order out of the expirer's reach.
  releaser keyed release at an epoch, then the removal of the outbox row, fenced by that epoch.
  redriver publishes again what stands in `inflight`.
  builder  ledger epoch first, close, high-water mark, drain, snapshot + OPEN in one transaction, install; crash
           anywhere; a second builder takes over; the first wakes up later.

Faults are unlimited in number except failovers (1) and epochs (bounded per configuration). Claim ids are finite, and a
buyer may repeat any id (same Idempotency-Key) or use another of his ids (new key) at any moment.

What is checked in every reachable state
  I1 I2 I3   ledger constraints hold; gate: free + held = total, numbers distinct, limit kept
  exact      the ledger refuses (REJECTED) only a straggler: a claim of an epoch older than the last one that opened
             (without pinning: also claims of an epoch whose gate lost writes)
  covered    gate open at the ledger's epoch: every live order is held by the gate (so its unit is not for sale)
  no orphan  held and not in flight => the ledger has the row, live or with its release still in the outbox
And for liveness, with faults and buyers stopped: the remaining steps never form a cycle (topological sort over all
reachable states), and wherever no step is left: log, inflight and outbox are empty, the gate is open at the ledger's
epoch, held = live orders, free = total - live, no late money undecided, and every id that was ever published has its
row (more than the promise, which is only about those answered 202).

Symmetry: claim ids that play the same part are sorted into a canonical order.
"""
ENDED = 16                                   # gate column: tombstone
INFL = 8                                     # gate column: held, not yet known to be recorded
EXPIRED, REJECTED = 16, 17                   # ledger column: status
OUT, TOLD = 32, 64                           # ledger column: bits: release in the outbox; consumed without a row
LATE = 18                                    # ledger column of a second hold: late money is there, not decided yet
LIVE = 16                                    # ledger column: 0 < status < LIVE is number + 1 of a live order


def put(t, i, v):
    return t[:i] + (v,) + t[i + 1:]


class Model:
    """One configuration: initial state, successors, invariants."""

    def __init__(self, name, buyers, total=2, numbered=False, epochs=2, builders=1, pin=True, failover=True,
                 log_max=2, slots=2, sleepers=9, late=None, mutant=None):
        self.name, self.buyer, self.n, self.total = name, buyers, len(buyers), total
        self.numbered, self.epochs, self.builders, self.pin = numbered, epochs, builders, pin
        self.failover, self.log_max, self.slots, self.sleepers = failover, log_max, slots, sleepers
        self.mutant, self.late = mutant, late or {}          # late: {second hold: the order whose money came late}
        self.rejected = REJECTED if mutant == 'unique_over_all_rows' else EXPIRED   # one ended state is enough
        late = late or {}
        single = [i for i in range(self.n) if buyers.count(buyers[i]) == 1]
        multi = {}
        for i in range(self.n):
            if buyers.count(buyers[i]) > 1 and i not in late and i not in late.values():
                multi.setdefault(buyers[i], []).append(i)
        classes = [single] + list(multi.values())          # ids that play the same part
        self.classes = [c for c in classes if len(c) > 1]
        self.mates = [[j for j in range(self.n) if j != i and buyers[j] == buyers[i]] for i in range(self.n)]

    # state: (G, Z, SN, fo, lossE, L, A, W, R, B, log)
    #  G, Z, SN: gate in use, isolated old gate, lagging copy: (epoch, open, free, cols)
    #  L: (epoch, open, last_open, rows);  A: api slots;  W: two workers;  R: releaser;  B: builders;  log
    def init(self):
        zeros = (0,) * self.n
        return ((1, 1, self.total, zeros), None, None, 0, 0, (1, 1, 1, zeros), ((),) * self.slots, ((), ()), (),
                ((),) * self.builders, ())

    # ---- gate scripts: pure functions on a gate tuple -------------------------------------------------------------
    def takes(self, g, i):
        """All ways the gate can take a unit for id i: list of (gate, number); empty = refused."""
        ep, op, free, cols = g
        for j in self.mates[i]:
            if cols[j] and cols[j] != ENDED:
                return []
        if not self.numbered:
            return [((ep, op, free - 1, put(cols, i, INFL | 1)), 0)] if free > 0 else []
        used = {(c & 7) - 1 for c in cols if c and c != ENDED}
        return [((ep, op, free - 1, put(cols, i, INFL | (k + 1))), k) for k in range(self.total) if k not in used]

    def adopt(self, g, i, num):
        """Adopt script: (gate, result); 1 taken or already held, 0 refused, 3 + k held already, but with number k."""
        ep, op, free, cols = g
        c = cols[i]
        if c == ENDED:
            return g, 0
        if c:
            return g, (1 if (c & 7) - 1 == num else 2 + (c & 7))
        flag = 0 if self.mutant == 'adopt_not_inflight' else INFL
        if self.mutant == 'adopt_without_checks':
            return (ep, op, free - 1, put(cols, i, flag | (num + 1))), 1
        for j in self.mates[i]:
            if cols[j] and cols[j] != ENDED:
                return g, 0
        if free <= 0:
            return g, 0
        if self.numbered and any(x and x != ENDED and (x & 7) - 1 == num for x in cols):
            return g, 0
        return (ep, op, free - 1, put(cols, i, flag | (num + 1))), 1

    def release(self, g, i):
        ep, op, free, cols = g
        c = cols[i]
        tomb = 0 if self.mutant == 'no_tombstones' else ENDED
        if self.mutant == 'release_by_count':
            return (ep, op, free + 1, put(cols, i, tomb))
        return (ep, op, free + (1 if c and c != ENDED else 0), put(cols, i, tomb))

    # ---- ledger ---------------------------------------------------------------------------------------------------
    @staticmethod
    def status(r):
        """0 none, 1 live, 2 ended."""
        r &= 31
        return 0 if r == 0 else (1 if r < 16 else 2)

    def admits(self, rows, i, num):
        """The constraints of the ledger for a new live order i."""
        live = 0
        every = self.mutant == 'unique_over_all_rows'
        for j, r in enumerate(rows):
            r &= 31
            if 0 < r < 16:
                live += 1
                if self.numbered and (r & 7) - 1 == num:
                    return False
            if r and j in self.mates[i] and (r < 16 or every and r == EXPIRED):
                return False
        return live < self.total

    # ---- canonical form -------------------------------------------------------------------------------------------
    def canon(self, s):
        G, Z, SN, fo, le, L, A, W, R, B, log = s
        A = tuple(sorted(A))
        W = tuple(sorted(W))
        if self.builders > 1:
            B = tuple(sorted(B, key=lambda b: b[:2]))
        if not self.classes:
            return (G, Z, SN, fo, le, L, A, W, R, B, log)
        perm = None
        gc, rows = G[3], L[3]
        zc = Z[3] if Z else None
        sc = SN[3] if SN else None
        for cl in self.classes:
            first = [gc[i] << 8 | rows[i] for i in cl]
            if len(set(first)) == len(cl):
                order = [i for _, i in sorted(zip(first, cl))]
                if order != cl:
                    if perm is None:
                        perm = list(range(self.n))
                    for new, old in zip(cl, order):
                        perm[new] = old
                continue
            sig = []
            for i in cl:
                k = [gc[i], rows[i], zc[i] if zc else 0, sc[i] if sc else 0]
                for b in B:
                    if b and b[0] == 3:
                        k.append(b[2][i])
                k.append(tuple([(p, m[1], m[2]) for p, m in enumerate(log) if m[0] == i]))
                k.append(tuple([a[1:] for a in A if a and a[0] == i]))
                k.append(tuple(sorted([(w[0],) + w[2:] for w in W if w and w[1] == i])))
                k.append(1 if R and R[0] == i else 0)
                sig.append((k, i))
            order = [i for _, i in sorted(sig)]
            if order != cl:
                if perm is None:
                    perm = list(range(self.n))        # perm[new] = old
                for new, old in zip(cl, order):
                    perm[new] = old
        if perm is None:
            return (G, Z, SN, fo, le, L, A, W, R, B, log)
        inv = [0] * self.n
        for new, old in enumerate(perm):
            inv[old] = new

        def pc(c):
            return tuple([c[o] for o in perm])
        G = (G[0], G[1], G[2], pc(G[3]))
        if Z:
            Z = (Z[0], Z[1], Z[2], pc(Z[3]))
        if SN:
            SN = (SN[0], SN[1], SN[2], pc(SN[3]))
        L = (L[0], L[1], L[2], pc(L[3]))
        A = tuple(sorted([(inv[a[0]],) + a[1:] if a else a for a in A]))
        W = tuple(sorted([(w[0], inv[w[1]]) + w[2:] if w else w for w in W]))
        R = (inv[R[0]], R[1]) if R else R
        B = tuple([(3, b[1], pc(b[2]), b[3]) if b and b[0] == 3 else b for b in B])
        log = tuple([(inv[m[0]], m[1], m[2]) for m in log])
        return (G, Z, SN, fo, le, L, A, W, R, B, log)

    # ---- successors -----------------------------------------------------------------------------------------------
    def commit(self, L, lossE, i, ep, num, res):
        """Transaction of record for one message. Returns (L, live, error); res: adoption result or None."""
        lep, lop, last, rows = L
        r = rows[i]
        st = self.status(r)
        err = None
        if st == 1:
            return L, 1, None
        if st == 2:
            if self.mutant in ('ended_duplicate_ignored', 'ended_duplicate_alone'):
                return L, 0, None
            return (lep, lop, last, put(rows, i, r | OUT)), 0, None
        if res and res > 2:                                # the gate holds this id with another number: that one counts
            if self.mutant == 'other_contents_skipped':
                return L, 0, None
            num = res - 3
        if res != 0 and self.admits(rows, i, num):
            return (lep, lop, last, put(rows, i, num + 1)), 1, None
        if ep >= last and (self.pin or ep > lossE or self.mutant == 'unpinned'):
            err = 'exact: a claim of the current epoch was refused by the ledger (id %d)' % i
        return (lep, lop, last, put(rows, i, self.rejected | OUT)), 0, err

    def decide(self, add, L, lossE, i, rr, W, g, confirmed):
        """Settle's transaction for second hold i after the gate's answer rr: PAID, or ended (refund due) + release."""
        lep, lop, last, rows = L
        if rows[i] & 31 != LATE:
            add('settle %d: decided already' % i, True, W=W)
            return
        c = g[3][i]
        num = (c & 7) - 1 if c and c != ENDED else 0
        err = None
        if rr == 1 and self.admits(rows, i, num):
            add('settle keeps the money of %d' % i, True, L=(lep, lop, last, put(rows, i, num + 1)), W=W,
                G=confirmed(g, i, lep))
            add('settle keeps the money of %d, confirm lost' % i, False, L=(lep, lop, last, put(rows, i, num + 1)), W=W,
                G=g)
            return
        if rr == 1 and self.mutant is None and (self.pin or lossE != lep):
            err = 'exact: the ledger refused a retake that the gate had granted'
        add('settle refunds %d' % i, True, L=(lep, lop, last, put(rows, i, EXPIRED | OUT)), W=W, G=g, err=err)

    def succ(self, s):
        """Yields (label, state, fault_free, error)."""
        G, Z, SN, fo, lossE, L, A, W, R, B, log = s
        lep, lop, last, rows = L
        out = []
        mut = self.mutant
        calm_only = lep > self.epochs                       # the run after the faults stopped
        room = len(log) < self.log_max

        def add(label, ff, G=G, Z=Z, SN=SN, fo=fo, lossE=lossE, L=L, A=A, W=W, R=R, B=B, log=log, err=None):
            if ff or not calm_only:
                out.append((label, (G, Z, SN, fo, lossE, L, A, W, R, B, log), ff, err))

        busy = sum(1 for x in A if x) + sum(1 for w in W if w) + (1 if R else 0)
        room_to_sleep = busy < self.sleepers

        # -- api node: reserve script (also on an isolated old master)
        if not calm_only:
            slot = A.index(()) if room_to_sleep and () in A else -1
            for tag, g in (('', G), ('@old', Z)):
                if not g or not g[1]:
                    continue
                for i in range(self.n):
                    c = g[3][i]
                    if c == ENDED or i in self.late:
                        continue                            # ended: answered from the ledger, the first answer again
                    if c:
                        if c & INFL:                        # repeated: publish again, 202 only once acknowledged
                            a = (i, g[0], (c & 7) - 1)
                            if slot >= 0 and a not in A:
                                add('reserve%s %d repeated' % (tag, i), False, A=put(A, slot, a))
                        elif not rows[i] & 31 and not rows[i] & TOLD:
                            add('reserve%s %d repeated, 202' % (tag, i), False,
                                L=(lep, lop, last, put(rows, i, rows[i] | TOLD)))
                        continue
                    for g2, num in self.takes(g, i):
                        kw = {'Z': g2} if tag else {'G': g2}
                        label = 'reserve%s %d -> number %d, epoch %d' % (tag, i, num, g[0])
                        add(label + ', reply lost', False, **kw)
                        if slot >= 0:
                            add(label, False, A=put(A, slot, (i, g[0], num)), **kw)
        # -- api node: publish
        for p, a in enumerate(A):
            if not a or (p and a == A[p - 1]):
                continue
            i = a[0]
            A2 = put(A, p, ())
            add('api crash holding %d (or: not persisted, 503)' % i, False, A=A2)
            if a in log:                                    # an equal copy waits in the log: nothing new for anyone
                add('publish %d acked (copy), 202' % i, True, A=A2)
            elif room:
                add('publish %d epoch %d acked, 202' % (i, a[1]), True, A=A2, log=log + (a,))
                g2, label = G, 'publish %d persisted, no answer, 503; the producer may send it again'
                if mut == 'void_on_ambiguous_publish':
                    label = 'publish %d ambiguous, persisted, VOIDED'
                    if G[1] and G[0] == a[1] and G[3][i] and G[3][i] != ENDED:
                        g2 = (G[0], G[1], G[2] + 1, put(G[3], i, 0))
                add(label % i, False, G=g2, log=log + (a,))
        # -- re-driver
        if room:
            for tag, g in (('', G), ('@old', Z)):
                if g and g[1]:
                    for i in range(self.n):
                        c = g[3][i]
                        if not c or c == ENDED or not c & INFL or i in self.late:
                            continue
                        m = (i, g[0], (c & 7) - 1)
                        due = (not tag and g[0] == lep and lop and not any(x and x[0] == i for x in log + A)
                               and not any(w and w[1] == i for w in W) and not rows[i] & OUT)
                        if m not in log:
                            add('redrive%s %d' % (tag, i), bool(due), log=log + (m,))
        # -- workers
        def confirmed(g, i, e):
            """Confirm script: i is recorded, said at epoch e."""
            if g and g[1] and (g[0] == e or mut == 'confirm_any_epoch'):
                c = g[3][i]
                if c and c != ENDED and c & INFL:
                    return (g[0], g[1], g[2], put(g[3], i, c & 7))
            return g

        def pop(label, me, live, L2, err=None, g=G, ff=True):
            """The offset moves past log[0]: high-water marks come nearer; whoever adopted for this offset is fenced;
            another worker may be left behind that fetched the same message before and now sleeps (zombie). The
            confirmation comes at once, later (a sleeper), or never."""
            m = log[0]
            B2 = tuple([(2, b[1], max(0, b[2] - 1)) if b and b[0] == 2 else b for b in B])
            W2 = tuple([() if q == me or (w and w[0] == 2) else w for q, w in enumerate(W)])
            if not L2[3][m[0]] & 31:                        # no row: assume the worst, that a 202 was sent
                L2 = (L2[0], L2[1], L2[2], put(L2[3], m[0], L2[3][m[0]] | TOLD))
            nap = sum(1 for x in A if x) + sum(1 for w in W2 if w) + (1 if R else 0) < self.sleepers and () in W2
            if live and lop:
                add(label + ', confirm', ff, G=confirmed(g, m[0], lep), L=L2, W=W2, B=B2, log=log[1:], err=err)
                add(label + ', confirm lost', False, G=g, L=L2, W=W2, B=B2, log=log[1:], err=err)
                if nap:
                    add(label + ', confirm later', False, G=g, L=L2, W=put(W2, W2.index(()), (3, m[0], lep)), B=B2,
                        log=log[1:], err=err)
            else:
                add(label, ff, G=g, L=L2, W=W2, B=B2, log=log[1:], err=err)
            if nap and m[1] < self.epochs and not any(w and w[0] == 1 for w in W2):
                add(label + ', another worker sleeps with it', False, G=g, L=L2, W=put(W2, W2.index(()), (1,) + m),
                    B=B2, log=log[1:], err=err)

        def work(me, m, res=None, resE=None, g=G):
            """A worker holds message m, the one at the current offset, and goes on."""
            i, ep, num = m
            known = rows[i] & 31
            if known or not lop or ep >= lep or (resE == lep and res is not None) or mut == 'straggler_ledger_first':
                if not (resE == lep and lop):
                    # No adoption. While BUILDING, the last open epoch is recorded straight; what is older is refused:
                    # it would take units that claims of the last open epoch, further on in the log, were promised.
                    res = 0 if not lop and ep < last and mut != 'drain_records_all' else None
                L2, live, err = self.commit(L, lossE, i, ep, num, res)
                pop('commit %d epoch %d%s' % (i, ep, '' if live else ' (ended or refused)'), me, live, L2, err, g)
                return
            for tag, h in (('', G), ('@old', Z)):
                if h and h[1] and ep < h[0]:
                    h2, rr = self.adopt(h, i, num)
                    result = 'refused' if not rr else 'taken' if rr == 1 else 'held with number %d' % (rr - 3)
                    label = 'adopt%s %d at epoch %d: %s' % (tag, i, h[0], result)
                    if room_to_sleep and () in W:
                        add(label, False, W=put(W, W.index(()), (2, i, ep, num, h[0], rr)), **{'Z' if tag else 'G': h2})
                    elif h2 != h:
                        add(label + ', crash', False, **{'Z' if tag else 'G': h2})
                    if not tag and h[0] == lep:             # adopt, then commit, without a nap between
                        L2, live, err = self.commit(L, lossE, i, ep, num, rr)
                        pop(label + ', commit', None, live, L2, err, h2)

        if mut == 'offset_before_work':
            if log and () in W:
                q = W.index(())
                B2 = tuple([(2, b[1], max(0, b[2] - 1)) if b and b[0] == 2 else b for b in B])
                i = log[0][0]
                L2 = L if rows[i] & 31 else (lep, lop, last, put(rows, i, rows[i] | TOLD))
                add('commit the offset of %d' % i, True, W=put(W, q, (4,) + log[0]), B=B2, log=log[1:], L=L2)
        elif log and not any(w and w[0] == 2 for w in W):
            work(None, log[0])
        if mut == 'confirm_before_commit' and log:
            add('confirm %d, then the commit fails' % log[0][0], False, G=confirmed(G, log[0][0], log[0][1]))
        for q, w in enumerate(W):
            if not w:
                continue
            if w[0] != 1:
                add('worker crash', False, W=put(W, q, ()))
            if w[0] == 1:
                add('zombie sees that it is fenced', True, W=put(W, q, ()))
                i, ep, num = w[1:4]
                for tag, g in (('', G), ('@old', Z)):
                    if g and g[1] and ep < g[0] and not g[3][i]:
                        g2, rr = self.adopt(g, i, num)
                        if rr == 1:
                            add('zombie adopts%s %d at epoch %d' % (tag, i, g[0]), False, W=put(W, q, ()),
                                **{'Z' if tag else 'G': g2})
            elif w[0] == 2:
                if w[4] == lep and lop:
                    work(q, w[1:4], w[5], w[4])
                elif mut == 'record_not_fenced':
                    L2, live, err = self.commit(L, lossE, w[1], w[2], w[3], w[5])
                    pop('commit %d, epoch moved' % w[1], q, live, L2, err)
                else:
                    add('epoch moved, decide %d again' % w[1], True, W=put(W, q, ()))
            elif w[0] == 3:
                add('confirm %d' % w[1], True, W=put(W, q, ()), G=confirmed(G, w[1], w[2]))
                if Z and confirmed(Z, w[1], w[2]) is not Z:
                    add('confirm@old %d' % w[1], False, W=put(W, q, ()), Z=confirmed(Z, w[1], w[2]))
            elif w[0] == 4:                                 # mutant: offset first, work later
                i, ep, num = w[1:4]
                L2, live, err = self.commit(L, lossE, i, ep, num, None)
                add('the work of %d' % i, True, L=L2, W=put(W, q, ()), err=err,
                    G=confirmed(G, i, lep) if live and lop else G)
            elif w[0] == 5:                                 # settle: the gate has answered, the ledger decides
                i, e, rr = w[1:4]
                if e == lep and lop:
                    self.decide(add, L, lossE, i, rr, put(W, q, ()), G, confirmed)
                else:
                    add('settle %d: epoch moved, ask again' % i, True, W=put(W, q, ()))
        # -- settle: late money takes a new hold, gate first
        for i, order in self.late.items():
            r = rows[i]
            if not r and rows[order] & 31 == EXPIRED and not calm_only:
                add('late money for %d' % order, False, L=(lep, lop, last, put(rows, i, LATE)))
            if r & 31 == LATE:
                if mut == 'retake_ledger_first':
                    self.decide(add, L, lossE, i, 1, W, G, confirmed)
                elif G[1]:
                    for num in (range(self.total) if self.numbered else (0,)):
                        g2, rr = self.adopt(G, i, num)
                        if rr > 2:
                            continue
                        if room_to_sleep and () in W:
                            add('settle asks the gate for %d: %d' % (i, rr), False, G=g2,
                                W=put(W, W.index(()), (5, i, G[0], rr)))
                        else:
                            add('settle asks the gate for %d: %d, crash' % (i, rr), False, G=g2)
                        if G[0] == lep and lop:
                            self.decide(add, L, lossE, i, rr, W, g2, confirmed)
            elif 0 < r & 31 < LIVE and G[1] and G[0] == lep and G[3][i] & INFL and G[3][i] != ENDED:
                add('re-driver finds second hold %d recorded' % i, True, G=confirmed(G, i, lep))
        # -- expirer, settle
        if not calm_only:
            for i in range(self.n):
                if 0 < rows[i] & 31 < LIVE and i not in self.late:     # a second hold is PAID
                    add('expire %d' % i, False, L=(lep, lop, last, put(rows, i, EXPIRED | OUT)))
                    if mut == 'release_before_commit' and G[1] and G[0] == lep:
                        add('expirer releases %d, then its commit fails' % i, False, G=self.release(G, i))
        # -- releaser
        if not R:
            for i in range(self.n):
                if rows[i] & OUT:
                    for tag, g in (('', G), ('@old', Z)):
                        if g and (g[1] or mut == 'no_epoch_check'):
                            kw = {'Z' if tag else 'G': self.release(g, i)}
                            label = 'release%s %d at epoch %d' % (tag, i, g[0])
                            if room_to_sleep:
                                add(label, False, R=(i, g[0]), **kw)
                            if kw.get('G', G) is not G or tag:
                                add(label + ', crash', False, **kw)
                            if g[0] == lep and lop:
                                add(label + ', outbox row removed', not tag,
                                    L=(lep, lop, last, put(rows, i, rows[i] & ~OUT)), **kw)
        else:
            i, e = R
            add('releaser crash', False, R=())
            if e == lep and lop or mut in ('no_epoch_check', 'outbox_not_fenced'):
                add('outbox row %d removed' % i, True, L=(lep, lop, last, put(rows, i, rows[i] & ~OUT)), R=())
            else:
                add('outbox row %d kept: epoch moved' % i, True, R=())
        # -- builders
        needed = not (G[1] and G[0] == lep and lop) or lossE == lep and not self.pin and fo
        alive = any(b and b[1] == lep for b in B)
        if () in B:
            slot = B.index(())
            calm = needed and not alive
            if calm or (lep < self.epochs and not calm_only):
                add('builder: ledger epoch %d, BUILDING' % (lep + 1), bool(calm), L=(lep + 1, 0, last, rows),
                    B=put(B, slot, (1, lep + 1)))
        for p, b in enumerate(B):
            if not b:
                continue
            e = b[1]
            add('builder %d crash' % e, False, B=put(B, p, ()))
            if e != lep:
                add('builder %d sees a newer epoch, gives up' % e, True, B=put(B, p, ()))
            if b[0] == 1:
                if G[0] < e and G[1]:
                    add('builder %d closes the gate' % e, e == lep, G=(e, 0, 0, (0,) * self.n))
                if e == lep:
                    add('builder %d captures the high-water mark' % e, not (G[0] < e and G[1]),
                        B=put(B, p, (2, e, len(log))))
            elif b[0] == 2:
                if e == lep and not lop and (b[2] == 0 or mut == 'no_drain'):
                    cols = tuple([(r & 7) if 0 < r & 31 < LIVE else (ENDED if r & 31 and r != LATE else 0)
                                  for r in rows])
                    if mut in ('tombstones_not_rebuilt', 'ended_duplicate_ignored'):
                        cols = tuple([0 if c == ENDED else c for c in cols])
                    free = self.total - sum(1 for c in cols if c and c != ENDED)
                    if mut == 'gate_opened_first':
                        add('builder %d opens the gate first' % e, True, G=(e, 1, free, cols), B=put(B, p, (4, e)))
                    elif mut == 'snapshot_outside':
                        add('builder %d snapshot (its own transaction)' % e, True, B=put(B, p, (3, e, cols, free)))
                    else:
                        add('builder %d snapshot + OPEN' % e, True, L=(lep, 1, lep, rows),
                            B=put(B, p, (3, e, cols, free)))
            elif b[0] == 4:
                if e == lep:
                    add('builder %d: ledger OPEN' % e, True, L=(lep, 1, lep, rows), B=put(B, p, ()))
            elif b[0] == 3:
                if mut == 'snapshot_outside' and not lop:
                    if e == lep:
                        add('builder %d OPEN' % e, True, L=(lep, 1, lep, rows))
                    continue
                if G[0] < e or (G[0] == e and not G[1]):
                    add('builder %d installs' % e, e == lep, G=(e, 1, b[3], b[2]), B=put(B, p, ()))
                elif e == lep:
                    add('builder %d finds a newer gate' % e, True, B=put(B, p, ()))
        # -- failover
        if self.failover and not fo and not calm_only:
            if self.pin:
                if G[1]:
                    add('failover: pinned instance died', False, G=(0, 0, 0, (0,) * self.n), fo=1)
                    add('failover: pinned instance isolated, still answers', False, G=(0, 0, 0, (0,) * self.n), Z=G,
                        fo=1)
            else:
                if SN is None:
                    add('replica stops following', False, SN=G)
                elif SN != G:
                    add('failover: suffix lost', False, G=SN, SN=None, fo=1, lossE=max(G[0], lep))
        if Z:
            add('isolated instance dies', True, Z=None)
        return out

    # ---- invariants -----------------------------------------------------------------------------------------------
    def check(self, s):
        G, Z, SN, fo, lossE, L, A, W, R, B, log = s
        lep, lop, last, rows = L
        live = [i for i in range(self.n) if 0 < rows[i] & 31 < 16]
        if len(live) > self.total:
            return 'I1: oversold'
        if self.numbered and len({rows[i] & 7 for i in live}) != len(live):
            return 'I2: one number, two live owners'
        for i in live:
            if any(j in live for j in self.mates[i]):
                return 'I3: limit passed'
        for g in (G, Z):
            if g and g[1]:
                held = [i for i in range(self.n) if g[3][i] and g[3][i] != ENDED]
                if g[2] < 0 or g[2] + len(held) != self.total:
                    return 'I6: gate epoch %d: free %d + held %d is not %d' % (g[0], g[2], len(held), self.total)
                if self.numbered and len({g[3][i] & 7 for i in held}) != len(held):
                    return 'I2: the gate holds a number twice'
                for i in held:
                    if any(j in held for j in self.mates[i]):
                        return 'I3: limit passed in the gate'
        if G[1] and G[0] == lep and lop and (self.pin or lossE != lep):
            for i in range(self.n):
                c = G[3][i]
                held = c and c != ENDED
                if 0 < rows[i] & 31 < 16:
                    if not held:
                        return 'covered: order %d is live, its unit is for sale' % i
                    if self.pin and c & 7 != rows[i] & 7:
                        return 'covered: order %d owns another number in the gate' % i
                elif held and not c & INFL and not rows[i] & OUT:
                    return 'no orphan: %d is held by nobody' % i
        return None

    def check_rest(self, s):
        """Nothing is left to do: is the system whole?"""
        G, Z, SN, fo, lossE, L, A, W, R, B, log = s
        lep, lop, last, rows = L
        if log or R or any(A) or any(W) or any(B):
            return 'rest: stuck with work in hand'
        if not (G[1] and G[0] == lep and lop):
            return 'rest: gate not open'
        for i in range(self.n):
            if rows[i] & TOLD:
                return 'I4: 202 without a row for %d' % i
            if rows[i] & OUT:
                return 'rest: release of %d never done' % i
            c = G[3][i]
            held = bool(c and c != ENDED)
            if held and c & INFL:
                return 'rest: %d in flight for ever' % i
            if rows[i] == LATE:
                return 'I7: late money of %d never decided' % i
            if held != (0 < rows[i] & 31 < LIVE):
                return 'rest: unit of %d leaked or sold twice' % i
        return None
