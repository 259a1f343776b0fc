"""Runs cases on the official LoadGen: one JSON object a line on standard input, one line with the outcome on standard output.

Each case runs in a process of its own, forked from this one: LoadGen counts the configuration files of a process, and a
crash or a hang must end one case only. The process leaves LoadGen's log files in the case's folder and says what LoadGen
called, in order, and what it was answered.

Usage: driver.py FOLDER_OF_THE_PACKAGE [MODULE]

MODULE is mlperf_loadgen, or one with its names.
"""

import ctypes
import importlib
import json
import os
import resource
import select
import signal
import struct
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])
lg = importlib.import_module(sys.argv[2] if len(sys.argv) > 2 else "mlperf_loadgen")


class System:
    """A system under test and a library that do what a script says, and take notes.

    A query is completed as soon as `hold` later ones are there, or by the flush. Patterns are lists that repeat, looked up
    by the number of the sample in the test: its ordinal.
    """

    def __init__(self, case):
        self.script = case["script"]
        self.calls = []
        self.held = []
        self.sample_count = 0
        self.phase_count = 0
        self.is_phase_fresh = True
        self.lock = threading.Lock()

    def load(self, indices):
        self.calls.append({"kind": "load", "indices": list(indices)})

    def unload(self, indices):
        self.calls.append({"kind": "unload", "indices": list(indices)})

    def issue(self, samples):
        with self.lock:
            self.issue_alone(samples)

    def issue_alone(self, samples):
        query = [(self.sample_count + k, s.id, s.index) for k, s in enumerate(samples)]
        self.sample_count += len(query)
        call = {"kind": "issue", "indices": [index for _, _, index in query], "actions": []}
        self.calls.append(call)
        if self.script["early_tokens"]:
            self.first_tokens(query, call["actions"])
        self.held.append(query)
        while len(self.held) > self.script["hold"]:
            self.complete(self.held.pop(-1 if self.script["newest_first"] else 0), call["actions"])

    def flush(self):
        call = {"kind": "flush", "actions": []}
        self.calls.append(call)
        while self.held:
            self.complete(self.held.pop(0), call["actions"])
        self.phase_count += 1
        self.is_phase_fresh = True

    def complete(self, query, actions):
        if self.script["reverse"]:
            query = query[::-1]
        size = self.script["group"] or len(query) or 1
        for start in range(0, len(query), size):
            group = query[start : start + size]
            if not self.script["early_tokens"]:
                self.first_tokens(group, actions)
            self.work(group[0][0])
            self.respond(lg.QuerySamplesComplete, "complete", group, actions)
            again = [entry for entry in group if self.pattern("again", entry[0])]
            if again:
                self.respond(lg.QuerySamplesComplete, "complete", again, actions)

    def first_tokens(self, group, actions):
        for number in range(2):
            chosen = [entry for entry in group if self.pattern("first_tokens", entry[0]) > number]
            if chosen:
                self.respond(lg.FirstTokenComplete, "first_token", chosen, actions)

    def respond(self, function, kind, group, actions):
        responses, notes, buffers, places = [], [], [], {}
        for ordinal, identity, index in group:
            data = response(ordinal, index, self.pattern("response_len", ordinal))
            token_count = self.pattern("tokens", ordinal)
            buffers.append(bytearray(data) or bytearray(1))
            place = (address(buffers[-1]), len(data))
            places[identity] = place
            if self.script.get("by_callback"):
                place = (0, 0)
            responses.append(lg.QuerySampleResponse(identity, *place, token_count))
            notes.append([ordinal, data.hex(), token_count])

        def fill(response):
            response.data, response.size = places[response.id]

        if self.script.get("by_callback"):
            function(responses, fill)
        else:
            function(responses)
        actions.append({"kind": kind, "responses": notes})

    def work(self, ordinal):
        busy_us = self.pattern("busy_us", ordinal)
        slow = self.script["slow_phases"]
        if slow and self.is_phase_fresh:
            self.is_phase_fresh = False
            busy_us += slow[min(self.phase_count, len(slow) - 1)]
        end = time.perf_counter_ns() + busy_us * 1000
        while time.perf_counter_ns() < end:
            pass

    def pattern(self, name, ordinal):
        values = self.script[name]
        return values[ordinal % len(values)] if values else 0


def response(ordinal, index, length):
    return bytes((ordinal * 7 + index * 3 + k * 13) % 256 for k in range(length))


def address(buffer):
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def python_name(name):
    return name.removeprefix("server_") if name.endswith(("ttft_latency", "tpot_latency")) else name


def apply(settings, values):
    for name, value in values.items():
        if name == "scenario":
            value = getattr(lg.TestScenario, value)
        elif name == "mode":
            value = getattr(lg.TestMode, value)
        setattr(settings, python_name(name), value)


def configure(case):
    settings = lg.TestSettings()
    # LoadGen leaves it uninitialised.
    settings.token_latency_scaling_factor = 0
    apply(settings, case["settings"])
    codes = []
    for number, file in enumerate(case["config_files"]):
        path = os.path.join(case["folder"], f"config_{number}.conf")
        if file["text"] is not None:
            with open(path, "w", encoding="utf-8", newline="") as out:
                out.write(file["text"])
        codes.append(settings.FromConfig(path, file["model"], file["scenario"], file["kind"]))
    apply(settings, case["settings_after"])
    return settings, codes


def value_of(settings, name):
    """A setting as JSON can carry it: a float by its bits, an enumerator by its name."""
    value = getattr(settings, python_name(name))
    if isinstance(value, float):
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    return value.name if hasattr(value, "name") else value


def function(name):
    """A function of the module that Python has no name for, from the symbols of its file."""
    path = os.path.realpath(lg.__file__)
    with open(path, "rb") as file:
        data = file.read()
    (headers,) = struct.unpack_from("<Q", data, 0x28)
    (header_count,) = struct.unpack_from("<H", data, 0x3C)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, headers + 64 * k) for k in range(header_count)]
    symbol_table = 2
    (table,) = [section for section in sections if section[1] == symbol_table]
    names = sections[table[6]][4]
    for offset in range(table[4], table[4] + table[5], 24):
        at, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", data, offset)
        if data.startswith(name + b"\0", names + at):
            return ctypes.CFUNCTYPE(None)(first_address(path) + value)
    raise LookupError(name)


def first_address(path):
    """Where a file begins in memory."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path))


def register_threads(count):
    """Starts issuing threads, which end with the test, and gives them time to register: LoadGen looks for them at the start
    of the test, and then only ten seconds later."""
    if count == 0:
        return
    register = function(b"_ZN6mlperf24RegisterIssueQueryThreadEv")
    for _ in range(count):
        threading.Thread(target=register, daemon=True).start()
    time.sleep(0.1)


def construct(kind, system):
    if kind == "FastSUT":
        samples = lambda ids, indices: [lg.QuerySample(*pair) for pair in zip(ids, indices)]
        return lg.ConstructFastSUT(lambda *lists: system.issue(samples(*lists)), system.flush)
    if kind == "QDL":
        return lg.ConstructQDL(system.issue, system.flush, lambda: "far away")
    return lg.ConstructSUT(system.issue, system.flush)


def run(case):
    """Runs one case in the current folder and returns its outcome."""
    settings, codes = configure(case)
    values = {name: value_of(settings, name) for name in case["fields"]}
    if case["only_configure"]:
        return {"kind": "ran", "codes": codes, "values": values, "calls": []}
    if case["audit_config"] is not None:
        with open("audit.config", "w", encoding="utf-8", newline="") as out:
            out.write(case["audit_config"])
    system = System(case)
    sut = construct(case.get("construct", "SUT"), system)
    qsl = lg.ConstructQSL(case["total_count"], case["performance_count"], system.load, system.unload)
    log_settings = lg.LogSettings()
    for name, value in case.get("log_output", {}).items():
        setattr(log_settings.log_output, name, value)
    register_threads(settings.server_num_issue_query_threads)
    lg.StartTestWithLogSettings(sut, qsl, settings, log_settings, "audit.config")
    return {"kind": "ran", "codes": codes, "values": values, "calls": system.calls}


def child(case, out):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(case["folder"])
    log = os.open("console.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    outcome = run(case)
    with os.fdopen(out, "w") as pipe:
        json.dump(outcome, pipe)


def isolated(case):
    """Runs one case in a child and returns its outcome, also if the child crashes or hangs."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            child(case, writer)
        except BaseException as error:  # pylint: disable=broad-except
            print(error, file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    os.close(writer)
    text, hung = read_all(reader, time.monotonic() + case["limit_s"])
    os.close(reader)
    if hung:
        os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if hung:
        return {"kind": "hang"}
    if status < 0:
        return {"kind": "crash", "detail": signal.Signals(-status).name}
    if status > 0:
        return {"kind": "crash", "detail": f"exit status {status}"}
    return json.loads(text)


def read_all(reader, deadline):
    """Reads until the other end is closed; or until the deadline, and then says so."""
    parts = []
    while True:
        ready = select.select([reader], [], [], max(0, deadline - time.monotonic()))[0]
        if not ready:
            return b"", True
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts), False
        parts.append(part)


def main():
    for line in sys.stdin:
        print(json.dumps(isolated(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
