"""Takes publish policies out of the graph of a running unit and puts others in.

Belongs to the loop's thread, between two steps, while nothing is under way in the unit (`Rounds.rest`). A policy gives
nothing on, so the tasks around it notice nothing.
"""

from __future__ import annotations

from functools import partial

from ghcm.runtime.engine.edge import Edge, Watermark
from ghcm.runtime.engine.host import Host
from ghcm.runtime.engine.operator import NEVER, Operator
from ghcm.runtime.engine.tasklet import OperatorTasklet
from ghcm.runtime.engine.wiring import Graph
from ghcm.spg.graph import Task


def drop(graph: Graph, name: str) -> None:
    """Take a policy out."""
    tasklet = graph.operators.pop(name)
    tasklet.close()
    for producer in graph.producers:
        for edge in tasklet.edges:
            producer.outbox.detach(edge)


def add(graph: Graph, task: Task, operator: Operator, host: Host) -> tuple[OperatorTasklet, bool]:
    """Put a policy behind the task that it reads; its tasklet, and whether that task had ended, so that nothing will
    come.
    """
    [input_] = task.inputs
    producer = graph.sources.get(input_.producer) or graph.operators[input_.producer]
    edge = Edge()
    tasklet = OperatorTasklet(task.id, operator, [edge], [], host)
    edge.wake_receiver = partial(host.scheduler.wake, tasklet)
    edge.wake_sender = partial(host.scheduler.wake, producer)
    graph.operators[task.id] = tasklet
    if producer.ended:
        tasklet.close()
        return tasklet, True
    producer.outbox.attach(edge)
    if isinstance(producer, OperatorTasklet) and producer.watermark > NEVER:
        edge.offer(Watermark(producer.watermark))  # what closed before it began is not for it to wait for
    return tasklet, False
