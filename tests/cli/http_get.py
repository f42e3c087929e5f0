#!/usr/bin/python3 -B
"""The status and body of a page that is served on a unix socket. Usage: http_get.py SOCKET PATH"""

import http.client
import socket
import sys


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(sys.argv[1])


connection = Connection("localhost", timeout=30)
connection.request("GET", sys.argv[2])
answer = connection.getresponse()
print(answer.status)
print(answer.read().decode(), end="")
