"""Sessions of Spark Connect on a free port, so that several runs of tests share a machine."""

from __future__ import annotations

import socket

from pyspark.sql import SparkSession


def connect_builder(master: str) -> SparkSession.Builder:
    """Return a builder of a session whose server listens on a free port. Outside its own tests, PySpark knows 15002 alone."""
    from pyspark.sql.connect.client import DefaultChannelBuilder  # noqa: PLC0415 — a classic session needs no gRPC

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    DefaultChannelBuilder.default_port = staticmethod(lambda: port)  # type: ignore[method-assign]
    return SparkSession.builder.remote(master).config("spark.connect.grpc.binding.port", str(port))
