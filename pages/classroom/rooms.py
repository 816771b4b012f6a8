"""The rooms of this server, in its memory alone: by a code that nobody finds by trying.

A code is one of 27^7, about 10^10. Wrong ones are counted for each visitor and for all together:
at the most that is let through, trying for two hours finds one of all rooms with a chance of one in
seven thousand.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable

from pages.classroom.room import MOST_STUDENTS, Refused, Room

MOST_ROOMS = 20
IDLE_SECONDS = 2 * 3600.0
# A room that nobody has joined makes room for another after this.
EMPTY_SECONDS = 600.0
CODE_LENGTH, KEY_LENGTH = 7, 20
# No letter looks like another or a digit, and without vowels they make no words.
_LETTERS = "23456789BCDFGHJKMNPQRSTVWXZ"
_WRONG_SECONDS, _WRONG_OF_ONE, _WRONG_OF_ALL = 60.0, 5, 600


def code_in(written: str) -> str:
    """A code as somebody types it: in any case, with blanks or dashes."""
    return "".join(written[:40].upper().replace("-", "").split())


def drawn_code(length: int) -> str:
    """Letters that nobody can foretell."""
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


class Rooms:
    """All rooms.

    clock: Seconds; the server's own, for nobody else's is asked.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rooms: dict[str, Room] = {}
        self._wrong: deque[tuple[float, str, str]] = deque()

    def open(self) -> Room:
        """A new room; its `key` is the teacher's.

        Raises `Refused` if there are as many as the server holds.
        """
        with self._lock:
            self._let_go()
            if len(self._rooms) >= MOST_ROOMS:
                self._drop_an_empty_one()
            code = drawn_code(CODE_LENGTH)
            while code in self._rooms:
                code = drawn_code(CODE_LENGTH)
            room = self._rooms[code] = Room(code, drawn_code(KEY_LENGTH), self._clock)
            return room

    def enter(self, written: str, visitor: str) -> Room:
        """The room of a code that somebody typed or followed.

        Raises `Refused` if there is no such room, or too many wrong codes came before.
        """
        code = code_in(written)
        with self._lock:
            self._let_go()
            now = self._clock()
            while self._wrong and now - self._wrong[0][0] > _WRONG_SECONDS:
                self._wrong.popleft()
            tried = {each for _, who, each in self._wrong if who == visitor}
            # A page that is drawn again asks again; that is no new try.
            if code in tried:
                raise _no_such_room()
            if len(tried) >= _WRONG_OF_ONE or len(self._wrong) >= _WRONG_OF_ALL:
                raise Refused("Too many codes that no room has. Try again in a minute.")
            room = self._rooms.get(code)
            if room is None:
                self._wrong.append((now, visitor, code))
                raise _no_such_room()
            return room

    def of_member(self, written: str, token: str) -> Room | None:
        """The room of a code, for who has a seat in it or its key; nothing for anybody else."""
        with self._lock:
            self._let_go()
            room = self._rooms.get(code_in(written))
        if room is not None and token and (room.is_key(token) or room.seat_of(token)):
            return room
        return None

    def close(self, room: Room, key: str) -> None:
        """End a room; raises `Refused` without its key."""
        room.close_round(key)
        with self._lock:
            self._rooms.pop(room.code, None)
        room.end()

    def __len__(self) -> int:
        return len(self._rooms)

    def _let_go(self) -> None:
        for code, room in list(self._rooms.items()):
            if self._clock() - room.touched > IDLE_SECONDS:
                del self._rooms[code]
                room.end()

    def _drop_an_empty_one(self) -> None:
        now = self._clock()
        empty = [
            room
            for room in self._rooms.values()
            if not room.n_joined and now - room.opened > EMPTY_SECONDS
        ]
        if not empty:
            raise Refused(
                f"{MOST_ROOMS} rooms are open on this server, for {MOST_STUDENTS} students each: "
                "no more until one of them ends."
            )
        dropped = min(empty, key=lambda room: room.touched)
        del self._rooms[dropped.code]
        dropped.end()


def _no_such_room() -> Refused:
    return Refused("No room has this code. A room ends two hours after the last visit.")


ROOMS = Rooms()
