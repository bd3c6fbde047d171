"""Walks through every state that a model can reach, and says the first that breaks a rule and the way there."""
import marshal
import time
from array import array

from protocol_model import TOLD

STATES_MAX = 6_000_000


def normal(s):
    """The 202 mark is needed only until the row exists."""
    L = s[5]
    rows = L[3]
    for r in rows:
        if r & TOLD and r & 31:
            return s[:5] + ((L[0], L[1], L[2], tuple([x & ~TOLD if x & 31 else x for x in rows])),) + s[6:]
    return s


def explore(m, cap=STATES_MAX, want_trace=False):
    """Breadth first over all states of model m. Returns a dict with counts, and the first violation with its trace."""
    t0 = time.process_time()
    dumps, loads = marshal.dumps, marshal.loads
    s0 = m.canon(m.init())
    keys = [dumps(s0)]
    index = {keys[0]: 0}
    parent, via = array('i', [-1]), array('i', [0])
    names, name_id = [''], {'': 0}
    src, dst = array('i'), array('i')
    transitions = rests = 0
    bad, bad_at, bad_last = None, -1, None
    at = 0
    while at < len(keys) and bad is None:
        s = loads(keys[at])
        calm = False
        for label, t, ff, err in m.succ(s):
            transitions += 1
            t = m.canon(normal(t))
            if err:
                bad, bad_at, bad_last = err, at, label
                break
            k = dumps(t)
            j = index.get(k)
            if j is None:
                e = m.check(t)
                if e:
                    bad, bad_at, bad_last = e, at, label
                    break
                j = len(keys)
                index[k] = j
                keys.append(k)
                if want_trace:
                    n = name_id.get(label)
                    if n is None:
                        n = name_id[label] = len(names)
                        names.append(label)
                    via.append(n)
                    parent.append(at)
            if ff:
                calm = True
                if j != at:
                    src.append(at)
                    dst.append(j)
                else:
                    bad, bad_at, bad_last = 'liveness: a step that changes nothing repeats', at, label
                    break
        if bad is None and not calm:
            rests += 1
            e = m.check_rest(s)
            if e:
                bad, bad_at, bad_last = e, at, None
        at += 1
        if len(keys) > cap:
            bad = bad or 'STATE CAP REACHED (not exhaustive)'
    states = len(keys)
    if bad is None:                                       # acyclic? remove states without calm steps, again and again
        index = keys = None
        deg = array('i', bytes(4 * states))
        for a in src:
            deg[a] += 1
        start = array('i', bytes(4 * (states + 1)))
        for d in dst:
            start[d + 1] += 1
        for i in range(states):
            start[i + 1] += start[i]
        fill = array('i', start)
        back = array('i', bytes(4 * len(src)))
        for a, d in zip(src, dst):
            back[fill[d]] = a
            fill[d] += 1
        stack = [i for i in range(states) if deg[i] == 0]
        removed = 0
        while stack:
            d = stack.pop()
            removed += 1
            for x in range(start[d], start[d + 1]):
                a = back[x]
                deg[a] -= 1
                if deg[a] == 0:
                    stack.append(a)
        if removed != states:
            bad = 'liveness: %d states can go round in calm steps for ever' % (states - removed)
    trace = []
    if want_trace and bad_at >= 0:
        j = bad_at
        if bad_last:
            trace.append(bad_last)
        while j > 0:
            trace.append(names[via[j]])
            j = parent[j]
        trace.reverse()
    return dict(name=m.name, states=states, transitions=transitions, rests=rests, bad=bad, trace=trace,
                seconds=time.process_time() - t0)
