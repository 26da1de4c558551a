"""A model that says what a test wants: an OpenAI-compatible server on 127.0.0.1, inside the test process.

It outlives a killed host, so a test can read what the host had asked before and after.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SUMMARY = "SUMMARY: files were written and read; nothing else is known of the earlier turns."


@dataclass(frozen=True, slots=True)
class Calls:
    """One assistant message with tool calls: names with arguments (text is sent as it is, well formed or not)."""

    calls: Sequence[tuple[str, Mapping[str, Any] | str]]


Step = str | Calls | Callable[[], "str | Calls"]
"""What the model answers to one request; a function is called when its turn comes, so a test can act just then."""


def call(name: str, /, **arguments: Any) -> Calls:
    """One tool call."""
    return Calls([(name, arguments)])


class Model:
    """Scripts by conversation. `scripts[marker]` serves the requests whose user messages contain `marker`.

    A conversation whose script is used up is answered with "done". Requests without tools (titles, summaries)
    get a summary and use up nothing. Longer markers win.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        """Bodies of the requests that offered tools, in order."""
        self.auxiliary: list[dict[str, Any]] = []
        """Bodies of the others: titles, summaries."""
        self._scripts: dict[str, list[Step]] = {}
        self._lock = threading.Lock()
        self._served = 0
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def script(self, marker: str, *steps: Step) -> None:
        """Add steps to the conversation known by `marker`."""
        with self._lock:
            self._scripts.setdefault(marker, []).extend(steps)

    def user_messages(self, marker: str) -> list[str]:
        """The last user message of every request of that conversation, as it went over the wire."""
        last = [[m for m in body["messages"] if m.get("role") == "user"][-1] for body in self.requests_of(marker)]
        return [text_of(message) for message in last]

    def requests_of(self, marker: str) -> list[dict[str, Any]]:
        return [body for body in self.requests if marker in _user_text(body)]

    def answer(self, body: dict[str, Any]) -> tuple[int, str | Calls]:
        """Number of the answer, and the answer."""
        with self._lock:
            self._served += 1
            number = self._served
            if not body.get("tools"):
                self.auxiliary.append(body)
                return number, SUMMARY
            self.requests.append(body)
            said = _user_text(body)
            fitting = sorted((m for m in self._scripts if m in said), key=lambda m: (len(m), m), reverse=True)
            steps = self._scripts[fitting[0]] if fitting else []
            step: Step = steps.pop(0) if steps else "done"
        return number, step() if callable(step) else step


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A killed host drops its connections; that is no event worth a traceback."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def text_of(message: Mapping[str, Any]) -> str:
    """Text of a message whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def _user_text(body: Mapping[str, Any]) -> str:
    return "\n".join(text_of(message) for message in body["messages"] if message.get("role") == "user")


def _message(number: int, step: str | Calls) -> dict[str, Any]:
    if isinstance(step, str):
        return {"role": "assistant", "content": step}
    calls = [
        {
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for index, (name, given) in enumerate(step.calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _chunks(number: int, message: Mapping[str, Any], finish: str, usage: Mapping[str, int]) -> list[dict[str, Any]]:
    """The same answer as a stream: what it says, why it ended, what it cost."""
    head = {"id": f"answer-{number}", "object": "chat.completion.chunk", "created": number, "model": "scripted"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": message["content"]}]
    for index, made in enumerate(message.get("tool_calls", [])):
        deltas.append({"tool_calls": [{"index": index, **made}]})
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    chunks.append({**head, "choices": [], "usage": dict(usage)})
    return chunks


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Tests speak for themselves."""

        def do_GET(self) -> None:
            self._json({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            if "messages" not in body:
                return self._json({"error": "only chat completions are served"}, 404)
            number, step = model.answer(body)
            # Four characters a token is what the host itself assumes; it drives real compaction.
            tokens = max(1, len(json.dumps(body["messages"])) // 4)
            usage = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}
            message, finish = _message(number, step), "stop" if isinstance(step, str) else "tool_calls"
            if not body.get("stream"):
                choice = {"index": 0, "message": message, "finish_reason": finish}
                head = {"id": f"answer-{number}", "object": "chat.completion", "created": number, "model": "scripted"}
                return self._json({**head, "choices": [choice], "usage": usage})
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for chunk in _chunks(number, message, finish, usage):
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def _json(self, answer: Mapping[str, Any], code: int = 200) -> None:
            raw = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    return Handler
