"""Anchors and aliases of YAML: for an alias, the events of its anchor come once more.

So whoever counts events counts what aliases stand for, and need not know them. A bomb of aliases is taken apart only as
far as somebody asks for the next event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import yaml


def without_aliases(events: Iterable[yaml.Event]) -> Iterator[yaml.Event]:
    """The events with those of its anchor in the place of every alias; of an alias whose anchor does not end before
    it, the alias itself.
    """
    taken: list[yaml.Event] = []  # since the first anchor
    anchors: dict[str, tuple[int, int]] = {}  # where in it the value of each begins and ends
    around: list[tuple[str | None, int]] = []  # anchor and begin of the collections that are open
    for event in events:
        if isinstance(event, yaml.AliasEvent) and event.anchor in anchors:
            for index in range(*anchors[event.anchor]):
                taken.append(taken[index])
                yield taken[index]
            continue
        anchor = getattr(event, "anchor", None)
        here = len(taken)
        if anchors or taken or anchor is not None:
            taken.append(event)
        yield event
        if isinstance(event, yaml.CollectionStartEvent):
            around.append((anchor, here))
            anchors.pop(anchor or "", None)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, begin = around.pop()
            if anchor is not None:
                anchors[anchor] = begin, len(taken)
        elif isinstance(event, yaml.ScalarEvent) and anchor is not None:
            anchors[anchor] = here, len(taken)
