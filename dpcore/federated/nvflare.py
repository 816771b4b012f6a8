"""A study over NVFlare: an executor carries bytes to a guard's door, a controller to a hub.

A job names both by their paths and brings no code; each site has installed them beforehand. What
NVFlare itself may do at a site, and how to shut that off, is in `docs/flower.md`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nvflare.apis.controller_spec import Task
from nvflare.apis.executor import Executor
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable

from dpcore.federated.couriers import Heard, Told, heard_from, knock, serve

# Where the guard's socket is, said by the site and by no job.
DOOR = "DPCORE_DOOR"
_TASK, _LOOK = "study", 0.1


class AtSite(Executor):
    """What NVFlare runs at a site."""

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: Any, abort_signal: Any) -> Any:  # noqa: ARG002
        """Bring what is told to the guard, and back what it says."""
        try:
            path, seconds = os.environ[DOOR], float(shareable["seconds"])
            heard = knock(path, shareable["kind"], shareable["body"], seconds=seconds)
        except (OSError, KeyError, ValueError, TypeError) as error:
            heard = Heard(False, f"no guard answers: {error}".encode())
        return Shareable({"said": heard.is_said, "body": heard.body})


class AtServer(Controller):
    """What NVFlare runs beside its server.

    study: The folder that `study init` made.
    """

    def __init__(self, study: str) -> None:
        super().__init__()
        self._study = study

    def start_controller(self, fl_ctx: Any) -> None:
        """Nothing is needed before."""

    def stop_controller(self, fl_ctx: Any) -> None:
        """Nothing is left behind."""

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        """Serve until the study has ended, or somebody aborts the job."""
        from dpcore.federated.hub import Hub
        from dpcore.federated.identity import hub_identity

        engine = fl_ctx.get_engine()

        def nodes() -> list[str]:
            if abort_signal.triggered:
                raise InterruptedError("the job was aborted")
            return [client.name for client in engine.get_clients()]

        def exchange(told: Mapping[str, Told], seconds: float) -> dict[str, Heard]:
            heard: dict[str, Heard] = {}

            def hear(client_task: Any, fl_ctx: Any) -> None:  # noqa: ARG001
                heard[client_task.client.name] = heard_from(client_task.result)

            for node, (kind, body) in told.items():
                content = Shareable({"kind": kind, "body": body, "seconds": seconds})
                task = Task(_TASK, content, timeout=round(seconds), result_received_cb=hear)
                self.send(task, fl_ctx, targets=[node])
            while self.get_num_standing_tasks():
                nodes()
                time.sleep(_LOOK)
            return heard

        identity = hub_identity(self._study)
        serve(Hub(identity.plan, Path(self._study) / "hub"), identity, nodes, exchange)
