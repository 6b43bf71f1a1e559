# What supervisor.pl does, for systems without perl; see there.
# Usage: python3 -I -S supervisor.py NUMBER_OF_PRCTL NUMBER_OF_SIGCONT SHELL
import ctypes
import os
import re
import select
import signal
import sys
import time

number, shell = int(sys.argv[1]), sys.argv[3]
IGNORED = [getattr(signal, "SIG" + name) for name in "HUP INT QUIT USR1 USR2 PIPE ALRM TERM TSTP TTIN TTOU".split()]
LOOK_SECONDS, ROUNDS = 0.25, 400


def become_reaper():
    libc = ctypes.CDLL(None)
    for words in ((36, 1), (1, signal.SIGCONT)):
        if libc.syscall(*[ctypes.c_long(n) for n in (number, *words, 0, 0, 0)]) != 0:
            os._exit(125)


def descendants():
    parent, group = {}, {}
    try:
        names = os.listdir("/proc")
    except OSError:
        # The system has no descriptors left: the next look may find some.
        return {}
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open("/proc/" + name + "/stat", "rb") as file:
                found = re.match(rb".*\) \S (\d+) (\d+)", file.read(), re.S)
        except OSError:
            continue
        if found:
            parent[int(name)], group[int(name)] = int(found[1]), int(found[2])
    below = {}
    for pid in parent:
        at, steps = pid, 0
        while at is not None and at != os.getpid() and steps < 10_000:
            at, steps = parent.get(at), steps + 1
        if at == os.getpid() and pid != at:
            below[pid] = group[pid]
    return below


def send(kind, pid):
    try:
        os.kill(pid, kind)
    except OSError:
        pass


def reap():
    """Yields what has ended; then False while there is somebody left, or True."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            yield True
            return
        if pid == 0:
            yield False
            return
        yield pid, status


def end_all():
    for turn in range(ROUNDS):
        *_, nobody = reap()
        if nobody:
            return
        below = descendants()
        # Stopped before any is killed: none goes on because another one, for which it waited, has ended.
        for kind in signal.SIGSTOP, signal.SIGKILL:
            for group in set(below.values()) - {os.getpgrp(), 0, 1}:
                send(kind, -group)
            for pid in below:
                send(kind, pid)
        time.sleep(0.002 if turn < 10 else 0.02)


def await_any(*descriptors):
    return select.select(descriptors, [], [], LOOK_SECONDS)[0]


def read_exactly(length):
    text = b""
    while len(text) < length:
        part = os.read(0, length - len(text))
        if part == b"":
            os._exit(0)
        text += part
    return text


def write(descriptor, text):
    try:
        os.write(descriptor, text)
    except OSError:
        # Whoever reads it is gone.
        pass


def say(text):
    write(report, text + b"\n")


def inner():
    become_reaper()
    if os.getppid() != outer:
        os._exit(0)
    # Python goes on waiting after a signal: this is what ends it.
    woken, wake = os.pipe()
    for descriptor in (woken, wake):
        os.set_blocking(descriptor, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    pid = os.fork()
    if pid == 0:
        run()
    os.close(writer)
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass
    say(b"pid %d" % pid)
    while True:
        ready = await_any(0, leash, woken)
        if 0 in ready or leash in ready:
            end_all()
            continue_outer()
            os._exit(0)
        if woken in ready:
            os.read(woken, 4096)
        for ended in reap():
            if not isinstance(ended, bool) and ended[0] == pid:
                status = ended[1]
                low = status & 127
                write(ending, b"signal %d" % low if low else b"exit %d" % (status >> 8))
                continue_outer()
                end_all()
                os._exit(0)
        continue_outer()


def continue_outer():
    if os.getppid() == outer:
        os.kill(outer, signal.SIGCONT)


def run():
    try:
        os.setpgid(0, 0)
        for one in [*IGNORED, signal.SIGCHLD, signal.SIGXFSZ]:
            signal.signal(one, signal.SIG_DFL)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.execv(shell, [shell, b"-c", command])
    finally:
        os._exit(127)


for one in IGNORED:
    signal.signal(one, signal.SIG_IGN)
report = os.dup(3)
os.close(3)
become_reaper()
output, writer = os.pipe()
say(b"pipe %d" % output)
length = b""
while (digit := read_exactly(1)) != b"\n":
    length += digit
command = read_exactly(int(length))
os.close(output)

ended, ending = os.pipe()
leash, hand = os.pipe()
outer = os.getpid()
child = os.fork()
if child == 0:
    os.close(ended)
    os.close(hand)
    inner()
for descriptor in (writer, ending, leash):
    os.close(descriptor)
while not (first := await_any(0, ended)):
    os.kill(child, signal.SIGCONT)
how = os.read(ended, 100) if ended in first else b""
end_all()
if how:
    say(how)
os._exit(0)
