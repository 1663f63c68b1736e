"""Real clients against a real server: OpenTelemetry's Python SDK over HTTP and gRPC, OpenInference and OpenLLMetry
instrumentation of a client that talks to a made-up model, curl, the hook command, and schemathesis over the API's description.

usage: check.py UNSPOOL        starts the server itself on free ports and ends it
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SPANS = 300


class Model(BaseHTTPRequestHandler):
    """Answers as the OpenAI API does: first asks for a tool, then says something."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        has_result = any(message.get("role") == "tool" for message in asked["messages"])
        call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
        message = {"role": "assistant", "content": "It rains." if has_result else None}
        if not has_result:
            message["tool_calls"] = [call]
        answer = {
            "id": f"chatcmpl-{time.time_ns()}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": "gpt-4o-2024-08-06",
            "choices": [
                {"index": 0, "message": message, "finish_reason": "stop" if has_result else "tool_calls", "logprobs": None}
            ],
            "usage": {"prompt_tokens": 21, "completion_tokens": 7, "total_tokens": 28},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def provider(exporter):
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    made = TracerProvider(resource=Resource.create({"service.name": "clients"}))
    made.add_span_processor(BatchSpanProcessor(exporter))
    return made


def http_exporter(http):
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=f"http://{http}/v1/traces", compression=Compression.Gzip)


def grpc_exporter(grpc):
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter(endpoint=f"http://{grpc}", insecure=True)


def spans(made):
    """A trace of many spans by hand; gives its id."""
    tracer = made.get_tracer("clients")
    with tracer.start_as_current_span("invoke_agent planner") as root:
        root.set_attribute("gen_ai.operation.name", "invoke_agent")
        root.set_attribute("gen_ai.agent.name", "planner")
        for n in range(SPANS - 1):
            with tracer.start_as_current_span(f"execute_tool step{n % 7}") as span:
                span.set_attribute("gen_ai.operation.name", "execute_tool")
                span.set_attribute("gen_ai.tool.name", f"step{n % 7}")
        trace = root.get_span_context().trace_id
    made.shutdown()
    return trace


def chat(made, model, instrumentor):
    """A conversation with a tool call, as an instrumented program has it; gives the id of its trace."""
    from openai import OpenAI

    instrumentor.instrument(tracer_provider=made)
    client = OpenAI(base_url=f"http://{model}/v1", api_key="none")
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    messages = [{"role": "user", "content": "How is the weather in Oslo?"}]
    with made.get_tracer("clients").start_as_current_span("weather agent") as root:
        first = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[tool])
        messages.append(first.choices[0].message.model_dump(exclude_none=True))
        messages.append({"role": "tool", "tool_call_id": "call_1", "content": "rain"})
        client.chat.completions.create(model="gpt-4o", messages=messages, tools=[tool])
        trace = root.get_span_context().trace_id
    made.shutdown()
    return trace


def client(name, http, grpc, model):
    if name == "sdk-http":
        return spans(provider(http_exporter(http)))
    if name == "sdk-grpc":
        return spans(provider(grpc_exporter(grpc)))
    if name == "openinference":
        from openinference.instrumentation.openai import OpenAIInstrumentor

        return chat(provider(http_exporter(http)), model, OpenAIInstrumentor())
    if name == "openllmetry":
        from opentelemetry.instrumentation.openai import OpenAIInstrumentor

        return chat(provider(grpc_exporter(grpc)), model, OpenAIInstrumentor())
    raise SystemExit(f"no client {name}")


def ask(http, path):
    with urllib.request.urlopen(f"http://{http}{path}") as answer:
        return json.load(answer)


def wait_for(http, path, holds):
    """The answer as soon as something holds of it."""
    last = None
    for _ in range(200):
        try:
            last = ask(http, path)
            if holds(last):
                return last
        except urllib.error.HTTPError as error:
            last = error
        time.sleep(0.05)
    raise SystemExit(f"{path} never came to hold: {str(last)[:2000]}")


def check(said, holds):
    print(f"   {'ok' if holds else 'FAILED'}  {said}")
    if not holds:
        raise SystemExit(1)


def main(unspool):
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    talks_at = f"127.0.0.1:{model.server_port}"
    with tempfile.TemporaryDirectory() as folder:
        home = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        server = subprocess.Popen(
            [unspool, "serve", "--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0", "--no-watch", "--data-dir", f"{folder}/data"],
            stdout=subprocess.PIPE,
            text=True,
            env=home,
        )
        try:
            line = server.stdout.readline()
            http, grpc = re.search(r"http://(\S+) .*?gRPC on (\S+?)\)", line).groups()
            run(unspool, home, http, grpc, talks_at)
        finally:
            server.terminate()
            server.wait(timeout=20)
    check("the server ended by itself", server.returncode == 0)


def run(unspool, home, http, grpc, model):
    for name in ["sdk-http", "sdk-grpc", "openinference", "openllmetry"]:
        sent = subprocess.run(
            [sys.executable, __file__, "client", name, http, grpc, model], capture_output=True, text=True, timeout=120
        )
        check(f"{name}: nothing to complain about {sent.stderr.strip()[-300:]}", sent.returncode == 0 and "rror" not in sent.stderr)
        trace = sent.stdout.strip().splitlines()[-1]
        if name.startswith("sdk"):
            session = wait_for(http, f"/api/v1/sessions/{trace}", lambda s: len(s["steps"]) >= SPANS - 1)
            tools = [step for step in session["steps"] if step["kind"] == "tool_call"]
            check(f"{name}: every span is a step, once", len(tools) == SPANS - 1)
        else:
            session = wait_for(http, f"/api/v1/sessions/{trace}", lambda s: s["totals"]["model_calls"] == 2)
            usage = session["totals"]["usage"]
            check(f"{name}: two calls, tokens counted once {usage}", (usage["input"], usage["output"]) == (42, 14))
            models = {step["model"] for step in session["steps"] if step["kind"] == "model_call"}
            check(f"{name}: the model is named {models}", any(str(name).startswith("gpt-4o") for name in models))
    by_curl(http)
    by_hook(unspool, home, http)
    health = ask(http, "/api/v1/health")
    check(f"nothing was rejected {health}", health["records_rejected"] == 0 and health["status"] == "ok")
    by_schema(http)
    health = ask(http, "/api/v1/health")
    check("all is well after all that", health["status"] == "ok")


def by_curl(http):
    span = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "chat", "kind": 3,
            "startTimeUnixNano": "1767348000000000000", "endTimeUnixNano": "1767348001000000000"}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    sent = subprocess.run(
        ["curl", "-sS", "-f", "-H", "content-type: application/json", "-d", body, f"http://{http}/v1/traces"],
        capture_output=True, text=True,
    )
    check(f"curl: {sent.stdout}{sent.stderr}", sent.returncode == 0 and sent.stdout == "{}")
    wait_for(http, f"/api/v1/sessions/{span['traceId']}", lambda s: len(s["steps"]) == 1)


def by_hook(unspool, home, http):
    event = {"session_id": "hooked", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "/src",
             "tool_input": {"command": "ls"}, "tool_use_id": "toolu_hooked1", "transcript_path": "/x/hooked.jsonl"}
    sent = subprocess.run(
        [unspool, "hook", "--server", http], input=json.dumps(event), capture_output=True, text=True, env=home
    )
    check(f"hook: silent and successful {sent.stdout}{sent.stderr}", sent.returncode == 0 and not sent.stdout and not sent.stderr)
    wait_for(http, "/api/v1/sessions/hooked", lambda s: any(step["name"] == "Bash" for step in s["steps"]))


def by_schema(http):
    tested = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "schemathesis"), "run", f"http://{http}/api/v1/openapi.json",
         "--url", f"http://{http}", "--checks", "not_a_server_error,content_type_conformance,response_schema_conformance",
         "--max-examples", "8", "--seed", "1", "--exclude-path", "/api/v1/live", "--phases", "examples,fuzzing",
         "--suppress-health-check", "all", "--no-color"],
        capture_output=True, text=True, timeout=900,
    )
    if tested.returncode != 0:
        print(tested.stdout[-6000:])
    check("schemathesis: the API keeps to its description", tested.returncode == 0)


if __name__ == "__main__":
    if sys.argv[1] == "client":
        print(f"{client(*sys.argv[2:]):032x}")
    else:
        main(os.path.abspath(sys.argv[1]))
