#!/usr/bin/python3 -B
"""systemd's side of its notification protocol: prints each line of each message. Usage: notify_listener.py SOCKET"""

import socket
import sys

with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
    listener.bind(sys.argv[1])
    print("listening", flush=True)
    while message := listener.recv(65536):
        print(message.decode(), flush=True)
