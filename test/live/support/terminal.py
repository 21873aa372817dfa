"""Runs a program on a terminal of its own: terminal.py COLUMNS ROWS STEPS program words...

STEPS is a JSON list of [wait for this text, then write that]. A text to write that begins with "signal:" is sent as that
signal instead, and "close:" closes the terminal. What comes on stdin is typed as well. All the program writes goes to stdout; the exit code is that of the
program.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios

columns, rows, steps, program = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4:]
child, terminal = pty.fork()
if child == 0:
    # the size has to be there before the first look at it
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.execvp(program[0], program)

seen = b""
sources = [terminal, 0]
signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
signal.alarm(25)
while terminal in sources:
    ready, _, _ = select.select(sources, [], [])
    if 0 in ready:
        typed = os.read(0, 65536)
        if typed:
            os.write(terminal, typed)
        else:
            sources.remove(0)
    if terminal not in ready:
        continue
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    seen += data
    while steps and steps[0][0].encode() in seen:
        _, answer = steps.pop(0)
        seen = b""
        if answer.startswith("signal:"):
            os.kill(child, getattr(signal, answer[len("signal:") :]))
        elif answer == "close:":
            sources.remove(terminal)
            os.close(terminal)
            break
        else:
            os.write(terminal, answer.encode())

_, status = os.waitpid(child, 0)
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
