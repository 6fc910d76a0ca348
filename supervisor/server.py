"""The HTTP server in front of the Supervisor: uvicorn, with its options and limits."""

import uvicorn
from starlette.types import ASGIApp


def server(app: ASGIApp, host: str, port: int) -> uvicorn.Server:
    """The server of the app. It listens there, or on the sockets that it is run with."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        proxy_headers=False,  # whoever sends them could say that he asks from anywhere
        lifespan="on",
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)
