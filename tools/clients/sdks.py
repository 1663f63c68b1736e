"""The official SDKs of Anthropic and OpenAI through the proxy, against the made-up model: what they get is what they get directly, and what
is kept has their calls and tokens.

usage: sdks.py UNSPOOL MADE_UP_MODEL        starts both itself on free ports and ends them
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

import anthropic
import openai
import zstandard

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
QUESTION = {"role": "user", "content": "How is the weather in Oslo and Lima?"}


def check(said, holds):
    print(f"   {'ok' if holds else 'FAILED'}  {said}")
    if not holds:
        raise SystemExit(1)


class Told:
    """What an SDK got: documents, in order, and what they state of calls and tokens."""

    def __init__(self):
        self.documents = []
        self.calls = 0
        self.input = 0
        self.output = 0

    def note(self, what, document, usage=None):
        self.documents.append([what, json.loads(json.dumps(document, default=lambda one: one.model_dump()))])
        if usage is not None:
            self.calls += 1
            cached = (getattr(usage, "cache_read_input_tokens", 0) or 0) + (getattr(usage, "cache_creation_input_tokens", 0) or 0)
            self.input += (getattr(usage, "input_tokens", None) or getattr(usage, "prompt_tokens", None) or 0) + cached
            self.output += getattr(usage, "output_tokens", None) or getattr(usage, "completion_tokens", None) or 0


def by_anthropic(base):
    told = Told()
    client = anthropic.Anthropic(base_url=base, api_key="sk-ant-secret", max_retries=2)
    tools = [{"name": "weather", "description": "Tells it", "input_schema": WEATHER}]
    usual = {"max_tokens": 1024, "tools": tools}
    first = client.messages.create(model="made-up-tools", messages=[QUESTION], **usual)
    told.note("asks for tools", first, first.usage)
    results = [{"type": "tool_result", "tool_use_id": block.id, "content": "rain"} for block in first.content if block.type == "tool_use"]
    messages = [QUESTION, {"role": "assistant", "content": [block.model_dump() for block in first.content]}, {"role": "user", "content": results}]
    second = client.messages.create(model="claude-made-of-text", messages=messages, **usual)
    told.note("says something", second, second.usage)
    for script in ["thinking", "pings", "drip", "tools"]:
        events = []
        asked = [{"role": "user", "content": f"Stream {script}"}]
        with client.messages.stream(model=f"made-up-{script}", messages=asked, **usual) as stream:
            events.extend(event.type for event in stream)
            whole = stream.get_final_message()
        told.note(f"streams {script}", [events, whole], whole.usage)
    late = client.messages.create(model="made-up-overloaded", messages=[QUESTION], max_tokens=9)
    told.note("tries again after 529", late, late.usage)
    told.note("counts tokens", client.messages.count_tokens(model="made-up-text", messages=[QUESTION]))
    once = client.with_options(max_retries=0)
    try:
        once.messages.create(model="made-up-limited", messages=[QUESTION], max_tokens=9)
    except anthropic.RateLimitError as error:
        told.note("is told of 429", [error.status_code, error.body, error.response.headers["retry-after"]])
    try:
        for _ in once.messages.create(model="made-up-error", messages=[QUESTION], max_tokens=9, stream=True):
            pass
    except anthropic.APIStatusError as error:
        told.note("is told of an error in a stream", [error.status_code, error.body])
    return told


def by_openai(base):
    told = Told()
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="sk-secret", max_retries=2)
    tool = {"type": "function", "function": {"name": "weather", "parameters": WEATHER}}
    first = client.chat.completions.create(model="made-up-tools", messages=[QUESTION], tools=[tool])
    told.note("chat: asks for tools", first, first.usage)
    message = first.choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": "rain"} for call in message.tool_calls]
    second = client.chat.completions.create(
        model="gpt-made-of-text", messages=[QUESTION, message.model_dump(exclude_none=True), *results], tools=[tool]
    )
    told.note("chat: says something", second, second.usage)
    for script in ["pings", "drip", "tools"]:
        asked = [{"role": "user", "content": f"Stream {script}"}]
        with client.chat.completions.create(
            model=f"made-up-{script}", messages=asked, tools=[tool], stream=True, stream_options={"include_usage": True}
        ) as stream:
            chunks = list(stream)
        told.note(f"chat: streams {script}", chunks, chunks[-1].usage)
    late = client.chat.completions.create(model="made-up-overloaded", messages=[QUESTION])
    told.note("chat: tries again after 529", late, late.usage)
    function = {"type": "function", "name": "weather", "parameters": WEATHER}
    whole = client.responses.create(model="made-up-thinking", input="How is it in Lima?", tools=[function])
    told.note("responses: whole", whole, whole.usage)
    for script in ["tools", "drip", "thinking"]:
        with client.responses.create(model=f"made-up-{script}", input=f"Stream {script}", tools=[function], stream=True) as stream:
            events = list(stream)
        told.note(f"responses: streams {script}", events, events[-1].response.usage)
    try:
        client.with_options(max_retries=0).responses.create(model="made-up-limited", input="Hi")
    except openai.RateLimitError as error:
        told.note("responses: is told of 429", [error.status_code, error.body])
    return told


def ask(page, path):
    with urllib.request.urlopen(f"{page}{path}") as answer:
        return json.load(answer)


def kept(page):
    """Calls of models that came to an end, and their tokens, over all sessions."""
    calls, read, written = 0, 0, 0
    for line in ask(page, "/api/v1/sessions?limit=1000")["sessions"]:
        for step in ask(page, f"/api/v1/sessions/{line['id']}")["steps"]:
            usage = step.get("usage")
            if step["kind"] == "model_call" and usage and not step["pending"] and not step["is_error"]:
                calls += 1
                read += usage["input"] + usage["cache_read"] + usage["cache_write"]
                written += usage["output"] + usage["reasoning"]
    return calls, read, written


def started(command, pattern, env=None):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
    return process, re.search(pattern, process.stdout.readline()).groups()


def main(unspool, model):
    with tempfile.TemporaryDirectory() as folder:
        made_up, (upstream,) = started([model], r"(http://\S+?);")
        home = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        command = [unspool, "proxy", "--listen", "127.0.0.1:0", "--page-listen", "127.0.0.1:0", "--data-dir", f"{folder}/data"]
        command += ["--upstream", f"anthropic={upstream}", "--upstream", f"openai={upstream}"]
        proxy, (through, page) = started(command, r"(http://\S+) .*page is on (http://\S+)", home)
        try:
            compare(upstream, through, page)
        finally:
            proxy.terminate()
            proxy.wait(timeout=20)
            made_up.kill()
            made_up.wait(timeout=20)
        check("the proxy ended by itself", proxy.returncode == 0)
        exported = f"{folder}/records"
        subprocess.run([unspool, "db", "export", "-o", exported, "--data-dir", f"{folder}/data"], check=True, env=home)
        with open(exported, "rb") as file:
            records = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
        check("records are kept with masks", b"masked:" in records and b"Oslo" in records)
        check("no key is kept", not re.search(rb"sk-(ant-)?secret", records))


def compare(upstream, through, page):
    calls, read, written = 0, 0, 0
    for name, sdk, route in [("anthropic", by_anthropic, "/anthropic"), ("openai", by_openai, "/openai")]:
        version = {"anthropic": anthropic, "openai": openai}[name].__version__
        direct, proxied = sdk(upstream), sdk(through + route)
        for one, other in zip(direct.documents, proxied.documents, strict=True):
            check(f"{name} {version}: {one[0]}, the same as directly", one == other)
        calls, read, written = calls + proxied.calls, read + proxied.input, written + proxied.output
    for _ in range(200):
        if kept(page) == (calls, read, written):
            break
        time.sleep(0.05)
    check(f"{calls} calls, {read} tokens in, {written} out are kept: {kept(page)}", kept(page) == (calls, read, written))
    lost = ask(page, "/api/v1/health")["proxy"]["lost"]
    check(f"nothing was lost {lost}", not any(lost.values()))


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
