"""Answers requests of `host bench` about a system that Python runs: the other side of worker.rs.

What runs the system comes after this, in the same program, and ends with `serve`. The first argument is JSON with at least
{"cpus"}; requests and replies are lines of JSON on stdin and stdout, times a file of little-endian u64 in ns.
"""

import array
import json
import os
import sys
import time


def times_ns(window, call):
    """The times of calls one right after the other, as timing.rs makes them."""
    clock = time.perf_counter_ns
    end = clock() + int(window["warm_up_s"] * 1e9)
    while clock() < end:
        call()
    times = []
    least_ns, most_ns, least_calls = window["least_s"] * 1e9, window["most_s"] * 1e9, window["least_calls"]
    begin = last = clock()
    while True:
        call()
        now = clock()
        times.append(now - last)
        last = now
        spent = now - begin
        if (spent >= least_ns and len(times) >= least_calls) or spent >= most_ns:
            return times


def write_times(folder, times):
    with open(os.path.join(folder, "times.u64"), "wb") as file:
        array.array("Q", times).tofile(file)


def one_line(error):
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def serve(create):
    """Greets with the version of what `create` makes of the specification, then lets its `answer` reply to requests."""
    spec = json.loads(sys.argv[1])
    os.sched_setaffinity(0, spec["cpus"])
    replies = os.fdopen(os.dup(1), "w")
    # Whatever a package prints goes to stderr.
    os.dup2(2, 1)

    def say(reply):
        print(json.dumps(reply), file=replies, flush=True)

    try:
        worker = create(spec)
    except Exception as error:  # whatever keeps a package from being imported
        say({"error": one_line(error)})
        return
    say({"version": worker.version})
    for line in sys.stdin:
        try:
            say(worker.answer(json.loads(line)))
        except Exception as error:  # a system that lacks something must not end the run
            say({"error": one_line(error)})


