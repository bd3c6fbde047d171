#!/usr/bin/env python3
"""Explores the protocol exhaustively within small bounds, and sees that every rule is needed.

    python3 check.py              every configuration and every mutant (about 4 minutes of CPU, on all cores)
    python3 check.py --quick      the small configurations and every mutant (about 70 s of CPU): what the test runs
    python3 check.py --deep       three larger configurations as well (about 9 minutes of CPU more)
    python3 check.py --trace M    the shortest way that catches mutant M, step by step
"""
import argparse
import multiprocessing
import os
import sys
import time

from configurations import CONFIGS, DEEP, MUTANTS, QUICK, SPARE
from explore import explore
from protocol_model import Model

ROW = '%-46s %10s %12s %8s %7s  %s'
HEADINGS = {'mutant': '\nmutants (each must be caught)', 'spare': '\nnot needed for safety (passes without)'}


def job(task):
    """Explores one model; a mutant with the way to what it breaks."""
    kind, options, mutant = task
    options = dict(options)
    name = options.pop('name', None)
    model = Model(mutant or name, mutant=mutant, **options)
    if mutant:
        model.classes = []                    # no renumbering of ids, so that the trace can be read
    return kind, explore(model, want_trace=bool(mutant))


def trace(mutant):
    options, what = {**MUTANTS, **SPARE}[mutant]
    result = job(('mutant', options, mutant))[1]
    print('%s: %s\n' % (mutant, what))
    for number, step in enumerate(result['trace'], 1):
        print('%3d  %s' % (number, step))
    print('\n     ' + (result['bad'] or 'no violation'))
    return 0


def show(kind, result):
    """Prints one result; whether it is as it must be."""
    if kind == 'config':
        verdict = 'FAIL ' + result['bad'] if result['bad'] else 'PASS'
        print(ROW % (result['name'], result['states'], result['transitions'], result['rests'],
                     '%.1f' % result['seconds'], verdict))
        return not result['bad']
    is_caught = bool(result['bad']) and 'CAP' not in result['bad']
    words = ('caught', 'MISSED') if kind == 'mutant' else ('harmful', 'passes')
    print('  %-26s %-7s %9d states, %2d steps: %s' % (result['name'], words[0] if is_caught else words[1],
                                                     result['states'], len(result['trace']), result['bad'] or ''))
    return is_caught == (kind == 'mutant')


def run(configurations):
    begin = time.time()
    jobs = [('config', options, None) for options in configurations]
    jobs += [('mutant', options, name) for name, (options, _) in MUTANTS.items()]
    jobs += [('spare', options, name) for name, (options, _) in SPARE.items()]
    failed, states, last = 0, 0, 'config'
    print(ROW % ('configuration', 'states', 'transitions', 'at rest', 'CPU s', 'verdict'))
    with multiprocessing.Pool(min(len(jobs), os.cpu_count() or 1)) as pool:
        for kind, result in pool.imap(job, jobs):
            if kind != last:
                last = kind
                print(HEADINGS[kind])
            failed += not show(kind, result)
            states += result['states'] if kind == 'config' else 0
            sys.stdout.flush()
    print('\n%d states in %d configurations, %d mutants, %.0f s elapsed: %s' % (
        states, len(configurations), len(MUTANTS), time.time() - begin, 'FAIL' if failed else 'PASS'))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument('--quick', action='store_true')
    depth.add_argument('--deep', action='store_true')
    depth.add_argument('--trace', choices=[*MUTANTS, *SPARE], metavar='MUTANT')
    options = parser.parse_args()
    if options.trace:
        return trace(options.trace)
    return run(QUICK if options.quick else CONFIGS + DEEP if options.deep else CONFIGS)


if __name__ == '__main__':
    sys.exit(main())
