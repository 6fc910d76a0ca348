"""Attack chains and the steps that they are made of: the records of traffic.istream in Python."""

from datetime import datetime, timedelta

from ghcm import Record


class Step(Record):
    """What stands for the alerts of one signature from one host to another with pauses under a quarter of an hour."""

    at: datetime
    until: datetime
    attacker: str
    victim: str
    signature: str
    category: str
    severity: int
    count: int
    open: datetime  # so long what the victim does may go on from here


class ChainStep(Record):
    """A step in its chain."""

    chain: str  # the id of the chain
    position: int  # from 1
    at: datetime
    until: datetime
    attacker: str
    victim: str
    signature: str
    category: str
    severity: int
    count: int  # of alerts
    after: timedelta | None  # between the beginnings of the step before and of this one
    returns: bool  # its victim is in the chain already: the chain ends here


class Path(Record):
    """A chain while it grows: what its rank comes from, its hosts before the last victim, its steps."""

    id: str
    before: str  # the id of the chain without its last step
    score: int
    severity: int
    begun: datetime
    hosts: list[str]
    last: Step
    returns: bool
    fresh: bool  # of the latest round
    steps: list[ChainStep]


class Chain(Record):
    """Chains that lead over the same hosts, but for the last victim, are told by the best of them."""

    id: str
    attacker: str  # who begins it
    begin: datetime
    end: datetime
    length: int  # in steps
    severity: int  # of the worst step
    score: int
    alike: int  # how many chains it stands for
    hosts: list[str]
    story: str
