"""The HTTP server in front of the Supervisor: uvicorn, with its options and limits."""

import uvicorn
from starlette.types import ASGIApp

from ghcm.runtime.settings import Http


def server(app: ASGIApp, host: str, port: int, http: Http) -> uvicorn.Server:
    """The server of the app, with TLS where `http` says so. It listens there, or on the sockets that it is run with."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        proxy_headers=False,  # whoever sends them could say that he asks from anywhere
        lifespan="on",
        ssl_certfile=http.certificate,
        ssl_keyfile=http.key,
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)
