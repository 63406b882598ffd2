"""What holds for every test."""

import signal

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would every process that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
