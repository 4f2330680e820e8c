"""Asks the proxy for endpoints, byte by byte as given, and prints how it answers.

    ask.py HOW TARGET...   HOW: plain (a request with an absolute URL), connect, socks (the host as a name)

Each TARGET is HOST:PORT. What is meant for the server follows the request to the proxy in the same packet. A line is
printed for each target: the target, then the proxy's refusal (a status, a reply code) or what the server said.
"""
import os
import socket
import sys

GET = b"GET /%s HTTP/1.1\r\nHost: origin\r\nConnection: close\r\n\r\n"


def request(how, target):
    host, port = target.rsplit(":", 1)
    if how == "plain":
        return b"GET http://%s/plain HTTP/1.1\r\nHost: origin\r\nConnection: close\r\n\r\n" % target.encode()
    if how == "connect":
        return b"CONNECT %s HTTP/1.1\r\nHost: origin\r\n\r\n" % target.encode() + GET % b"connect"
    name = host.encode()
    greeting = b"\x05\x01\x00"
    connect = b"\x05\x01\x00\x03" + bytes([len(name)]) + name + int(port).to_bytes(2, "big")
    return greeting + connect + GET % b"socks"


def answer(how, target):
    variable = "ALL_PROXY" if how == "socks" else "HTTP_PROXY"
    proxy, port = os.environ[variable].split("//")[1].split(":")
    with socket.create_connection((proxy, int(port))) as connection:
        connection.sendall(request(how, target))
        everything = b""
        while chunk := connection.recv(65536):
            everything += chunk
    return everything


def summary(how, everything):
    if how == "socks":
        if everything[:2] != b"\x05\x00" or everything[3] != 0:
            return "refused: reply %d" % everything[3]
        everything = everything[12:]
    elif not everything.startswith(b"HTTP/1.1 200"):
        return "refused: " + everything.split(b"\r\n")[0].decode()
    for line in everything.decode().splitlines():
        if line.startswith("origin-ok"):
            return line
    return "no answer"


for target in sys.argv[2:]:
    print(target, summary(sys.argv[1], answer(sys.argv[1], target)))
