"""The log by hand: what no worker and no node would do to it, over the broker's own protocol.

`OrderLog` appends records that nobody can read, appends again what stands there, and reads. Topics come and go.
"""

import socket
import struct
import time
from dataclasses import dataclass, field

CREATE_TOPICS, DELETE_TOPICS, PRODUCE, FETCH = 19, 20, 0, 1
TOPIC_IS_THERE = 36
ANSWER_WAIT_S = 15.0
FETCH_BYTES = 4 * 1024 * 1024
# Of a batch of records: where the checksum stands, and where what it covers begins.
CHECKSUM_AT, CHECKED_FROM, PRODUCER_AT, COUNT_AT, RECORDS_AT = 17, 21, 43, 57, 61
NO_PRODUCER = struct.pack("!qhi", -1, -1, -1)


def _checksum_table():
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


_CHECKSUMS = _checksum_table()


def checksum(data):
    """CRC-32C."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _CHECKSUMS[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


def _text(text):
    return struct.pack("!h", len(text)) + text.encode()


def _varint(number):
    number = number << 1 ^ number >> 63
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _bytes(data):
    return _varint(-1) if data is None else _varint(len(data)) + data


@dataclass
class Record:
    """What stands in the log, or shall. A value may be null; headers are pairs of name and bytes."""

    key: bytes | None
    value: bytes | None
    headers: list = field(default_factory=list)
    offset: int = 0

    def encoded(self, number):
        body = b"\0" + _varint(0) + _varint(number) + _bytes(self.key) + _bytes(self.value)
        body += _varint(len(self.headers))
        for name, value in self.headers:
            body += _bytes(name.encode()) + _bytes(value)
        return _varint(len(body)) + body


def batch_of(records):
    now = int(time.time() * 1000)
    body = struct.pack("!hiqq", 0, len(records) - 1, now, now) + NO_PRODUCER + struct.pack("!i", len(records))
    body += b"".join(record.encoded(number) for number, record in enumerate(records))
    return struct.pack("!qiibI", 0, len(body) + 9, -1, 2, checksum(body)) + body


def without_producer(batch):
    """The same records, of nobody and from offset 0: a broker would know the numbers of a producer again."""
    body = bytearray(batch[CHECKED_FROM:])
    at = PRODUCER_AT - CHECKED_FROM
    body[at:at + len(NO_PRODUCER)] = NO_PRODUCER
    return bytes(8) + batch[8:CHECKSUM_AT] + struct.pack("!I", checksum(body)) + bytes(body)


class _Reader:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, form):
        values = struct.unpack_from("!" + form, self.data, self.at)
        self.at += struct.calcsize("!" + form)
        return values if len(values) > 1 else values[0]

    def bytes(self, size):
        self.at += size
        return bytes(self.data[self.at - size:self.at])

    def text(self):
        return self.bytes(self.take("h")).decode()

    def varint(self):
        number, shift = 0, 0
        while True:
            byte = self.take("B")
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number >> 1 ^ -(number & 1)

    def sized(self):
        size = self.varint()
        return None if size < 0 else self.bytes(size)


def records_of(batch):
    """The records of one batch that is not compressed."""
    first, reader = struct.unpack_from("!q", batch)[0], _Reader(batch)
    reader.at = COUNT_AT
    found = []
    for _ in range(reader.take("i")):
        reader.varint()
        reader.take("b")
        reader.varint()
        offset = first + reader.varint()
        key, value = reader.sized(), reader.sized()
        headers = [(reader.sized().decode(), reader.sized()) for _ in range(reader.varint())]
        found.append(Record(key, value, headers, offset))
    return found


def _split(data):
    """Whole batches; the last one of an answer may be cut off."""
    at = 0
    while at + RECORDS_AT <= len(data):
        size = 12 + struct.unpack_from("!i", data, at + 8)[0]
        if at + size > len(data):
            return
        yield bytes(data[at:at + size])
        at += size


class OrderLog:
    """One topic of a broker of 127.0.0.1. Every call is a connection of its own."""

    def __init__(self, port, topic, partitions):
        self.port = port
        self.topic = topic
        self.partitions = partitions

    def _ask(self, request, version, body):
        head = struct.pack("!hhih", request, version, 1, 4) + b"weir"
        with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_WAIT_S) as connection:
            connection.sendall(struct.pack("!i", len(head) + len(body)) + head + body)
            answer = b""
            while len(answer) < 4 or len(answer) < 4 + struct.unpack("!i", answer[:4])[0]:
                part = connection.recv(1 << 20)
                if not part:
                    raise ConnectionError("the broker closed the connection")
                answer += part
        reader = _Reader(answer)
        reader.at = 8  # Length, correlation.
        return reader

    def create(self):
        body = struct.pack("!i", 1) + _text(self.topic) + struct.pack("!ihii", self.partitions, 1, 0, 0)
        reader = self._ask(CREATE_TOPICS, 2, body + struct.pack("!i?", 10_000, False))
        reader.take("ii")  # Throttle time, count of topics.
        reader.text()
        error = reader.take("h")
        if error not in (0, TOPIC_IS_THERE):
            raise AssertionError(f"the broker refused the topic {self.topic}: error {error}")

    def delete(self):
        reader = self._ask(DELETE_TOPICS, 1, struct.pack("!i", 1) + _text(self.topic) + struct.pack("!i", 10_000))
        reader.take("ii")
        reader.text()
        error = reader.take("h")
        if error != 0:
            raise AssertionError(f"the broker does not delete {self.topic}: error {error}")

    def append(self, partition, batch):
        body = struct.pack("!hhii", -1, -1, 10_000, 1) + _text(self.topic)
        body += struct.pack("!iii", 1, partition, len(batch)) + batch
        reader = self._ask(PRODUCE, 3, body)
        reader.take("i")
        reader.text()
        _, _, error = reader.take("iih")
        if error != 0:
            raise AssertionError(f"the broker refused a batch for partition {partition}: error {error}")

    def batches(self, partition):
        """Every batch of the partition, from its first record."""
        found, offset = [], 0
        while True:
            body = struct.pack("!iiiibi", -1, 0, 0, FETCH_BYTES, 0, 1) + _text(self.topic)
            body += struct.pack("!iiqi", 1, partition, offset, FETCH_BYTES)
            reader = self._ask(FETCH, 4, body)
            reader.take("ii")
            reader.text()
            _, _, error, end, _ = reader.take("iihqq")
            if error != 0:
                raise AssertionError(f"the broker does not give partition {partition}: error {error}")
            for _ in range(max(0, reader.take("i"))):
                reader.take("qq")
            fresh = list(_split(reader.bytes(reader.take("i"))))
            found += fresh
            if not fresh:
                return found
            offset = struct.unpack_from("!q", fresh[-1])[0] + struct.unpack_from("!i", fresh[-1], 23)[0] + 1
            if offset >= end:
                return found

    def records(self):
        return [(partition, record) for partition in range(self.partitions) for batch in self.batches(partition)
                for record in records_of(batch)]

    def append_again(self, into=None, shift=0):
        """Appends everything that stands there once more, the last batch first, `shift` partitions further; or into
        another topic. How many batches that were."""
        target = into or self
        before = [(partition, batch) for partition in range(self.partitions) for batch in self.batches(partition)]
        for partition, batch in reversed(before):
            target.append((partition + shift) % target.partitions, without_producer(batch))
        return len(before)


def create_topic(port, name, partitions):
    """Asks a broker of 127.0.0.1 for a topic, kept on this one broker."""
    OrderLog(port, name, partitions).create()
