"""What is missing to reach the service, and what a call carries."""

import os
import tempfile
import unittest
from concurrent import futures
from pathlib import Path
from unittest import mock

import installed_client  # noqa: F401
from certificate import write_certificate

import grpc

import caravan
from caravan.connection import OPTIONS, Bearer, bearer_of, is_loopback
from caravan.v1alpha1 import job_service_pb2, job_service_pb2_grpc

NAME = "caravan-service.caravan-system.svc"
COMPLETE = {"CARAVAN_SERVER": "localhost:1", "CARAVAN_TOKEN": "secret", "CARAVAN_NAMESPACE": "team"}


class Connection(unittest.TestCase):
    def connect(self, **environment: str) -> caravan.Client:
        with mock.patch.dict(os.environ, environment, clear=True):
            return caravan.connect()

    def is_refused(self, what: str, **environment: str) -> None:
        with self.assertRaisesRegex(caravan.MisconfiguredError, what):
            self.connect(**environment)

    def test_what_is_missing_is_named(self):
        for missing in COMPLETE:
            self.is_refused(missing, **{name: value for name, value in COMPLETE.items() if name != missing})

    def test_the_environment_is_enough(self):
        with self.connect(**COMPLETE) as client:
            self.assertEqual("namespaces/team", client.parent)

    def test_files_that_cannot_be_read_are_told_at_once(self):
        self.is_refused("token.*/nowhere", **COMPLETE, CARAVAN_TOKEN_FILE="/nowhere")
        self.is_refused("authority.*/nowhere", **COMPLETE, CARAVAN_ROOT_FILE="/nowhere")

    def test_a_file_goes_before_a_token_as_in_the_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "token")
            file.write_text("of-the-file\n")
            with mock.patch.dict(os.environ, COMPLETE | {"CARAVAN_TOKEN_FILE": str(file)}, clear=True):
                self.assertEqual("of-the-file", bearer_of(None, None).read())

    def test_a_token_that_is_renewed_in_its_file_is_the_next_calls(self):
        shown = []
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "token")
            bearer = Bearer(None, str(file))
            for token in ("first", "second"):
                file.write_text(token + "\n")
                bearer(None, lambda metadata, error: shown.append((metadata, error)))
        self.assertEqual([((("authorization", f"Bearer {token}"),), None) for token in ("first", "second")], shown)

    def test_a_token_that_no_call_can_show_is_told_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "token")
            for written in (b"", b" \n", b"two words", b"two\nlines", b"secr\xc3\xa9t", b"\xff"):
                file.write_bytes(written)
                self.is_refused("token cannot be read", **COMPLETE, CARAVAN_TOKEN_FILE=str(file))
        for written in ("\n", "two\nlines", "secr\u00e9t"):
            self.is_refused("token cannot be read: one line", **COMPLETE | {"CARAVAN_TOKEN": written})

    def test_a_line_end_is_no_part_of_a_token(self):
        with mock.patch.dict(os.environ, {"CARAVAN_TOKEN": "secret\n"}, clear=True):
            self.assertEqual("secret", bearer_of(None, None).read())

    def test_a_service_is_asked_whether_it_lives_however_long_a_stream_is_silent(self):
        self.assertEqual(0, dict(OPTIONS)["grpc.http2.max_pings_without_data"], "gRPC by itself leaves it at two pings")

    def test_a_token_is_in_no_text_of_the_client(self):
        with self.connect(**COMPLETE) as client:
            self.assertNotIn("secret", f"{client!r} {vars(client)}")


class Service(job_service_pb2_grpc.JobServiceServicer):
    """Has every job. Tells the capacity when it is asked again. A stream of metrics is refused to the token `old`, which is renewed
    in its file by then."""

    def __init__(self, token_file: Path):
        self.token_file, self.is_up = token_file, False

    def GetCapacity(self, request, context):
        if not self.is_up:
            self.is_up = True
            context.abort(grpc.StatusCode.UNAVAILABLE, "the replica goes")
        return job_service_pb2.Capacity(pools_unknown="asked again")

    def GetJob(self, request, context):
        return job_service_pb2.Job(name=request.name)

    def StreamMetrics(self, request, context):
        if ("authorization", "Bearer old") in context.invocation_metadata():
            self.token_file.write_text("new")
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "the token has expired")
        yield job_service_pb2.StreamMetricsResponse(cursor="all")


class OverTls(unittest.TestCase):
    """Through what is reached as localhost, with a certificate for NAME alone."""

    def serve(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.token_file = self.folder / "token"
        self.token_file.write_text("old")
        write_certificate(self.folder, NAME)
        certificate = ((self.folder / "tls.key").read_bytes(), (self.folder / "tls.crt").read_bytes())
        server = grpc.server(futures.ThreadPoolExecutor(2))
        self.addCleanup(lambda: server.stop(None).wait())
        job_service_pb2_grpc.add_JobServiceServicer_to_server(Service(self.token_file), server)
        self.server = f"localhost:{server.add_secure_port('localhost:0', grpc.ssl_server_credentials([certificate]))}"
        server.start()

    def connect(self, **arguments: str) -> caravan.Client:
        client = caravan.connect(
            self.server, namespace="team", token_file=self.token_file, root_file=self.folder / "tls.crt", **arguments
        )
        self.addCleanup(client.close)
        return client

    def test_the_name_in_the_certificate_may_be_another_than_the_host(self):
        self.serve()
        self.assertEqual("llama", self.connect(server_name=NAME).get("llama").name)
        with mock.patch.dict(os.environ, {"CARAVAN_SERVER_NAME": NAME}):
            self.assertEqual("llama", self.connect().get("llama").name)

    def test_what_the_environment_names_now_is_asked(self):
        self.serve()
        environment = {"CARAVAN_SERVER": self.server, "CARAVAN_SERVER_NAME": NAME, "CARAVAN_TOKEN": "secret",
                       "CARAVAN_ROOT_FILE": str(self.folder / "tls.crt")}  # fmt: skip
        with mock.patch("caravan.client.connect", wraps=caravan.connect) as connected:
            for namespace in ("team", "team", "other"):
                with mock.patch.dict(os.environ, environment | {"CARAVAN_NAMESPACE": namespace}):
                    self.assertEqual(namespace, caravan.get("llama").namespace)
        self.assertEqual(2, connected.call_count)

    def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(self):
        self.serve()
        with mock.patch.dict(os.environ, {"https_proxy": "http://127.0.0.1:9", "grpc_proxy": "http://127.0.0.1:9", "no_proxy": ""}):
            self.assertEqual("llama", self.connect(server_name=NAME).get("llama").name)

    def test_this_machine_is_known_by_its_names(self):
        for server in ("localhost:8443", "127.0.0.1:8443", "127.1.2.3:1", "[::1]:8443"):
            self.assertTrue(is_loopback(server), server)
        for server in ("caravan.example.com:443", "10.0.0.1:443", "[fe80::1]:443", "localhost.example.com:443"):
            self.assertFalse(is_loopback(server), server)

    def test_what_only_reads_is_asked_again_when_a_replica_goes(self):
        self.serve()
        self.assertEqual("asked again", self.connect(server_name=NAME).capacity().pools_unknown)

    def test_a_stream_goes_on_with_the_token_that_was_renewed_in_its_file(self):
        self.serve()
        self.assertEqual([], list(self.connect(server_name=NAME).get("llama").metrics()))
        self.assertEqual("new", self.token_file.read_text())


if __name__ == "__main__":
    unittest.main()
