// The server: its health, its models and labels, and replies that come word by word.

import { Problem } from "./problems.js";

const PAUSE = 1000; // between two looks at a server that is not ready

export class Server {
  // `askKey(again)` gives the key a person typed; `waiting(why)` is told "loading", "broken", "away" or null.
  constructor({ key, askKey, waiting }) {
    this.key = key;
    this.askKey = askKey;
    this.waiting = waiting;
  }

  // Resolves once the server can answer, with what it says of itself.
  async ready(signal) {
    for (;;) {
      const response = await fetch("/health", { signal, cache: "no-store" }).catch(() => null);
      const health = await response?.json().catch(() => null);
      signal?.throwIfAborted();
      this.waiting(response?.ok ? null : !response ? "away" : health?.error?.code === "loading" ? "loading" : "broken");
      if (response?.ok) return health;
      await pause(PAUSE, signal);
    }
  }

  async get(path) {
    return (await this.#send(path)).json();
  }

  // Events of one reply: {delta}, then {reply}; an {error} is thrown.
  async *reply(request, signal) {
    const response = await this.#send("/v1/reply", { ...request, stream: true }, signal);
    for await (const event of events(response.body)) {
      if (event.error) throw new Problem(0, event.error);
      yield event;
    }
  }

  // Asks for the key where one is needed, and waits for a server that is still loading.
  async #send(path, body, signal) {
    for (;;) {
      const key = this.key;
      const response = await fetch(path, {
        signal,
        method: body ? "POST" : "GET",
        headers: { ...(key && { Authorization: `Bearer ${key}` }), ...(body && { "Content-Type": "application/json" }) },
        body: body && JSON.stringify(body),
      });
      if (response.ok) return response;
      const problem = await Problem.of(response);
      if (problem.status === 401) await this.#unlock(key);
      else if (problem.code === "loading") await this.ready(signal);
      else throw problem;
    }
  }

  // One question for the key, however many requests were refused.
  async #unlock(refused) {
    if (this.key !== refused) return;
    this.unlocking ??= this.askKey(Boolean(refused)).finally(() => (this.unlocking = null));
    this.key = await this.unlocking;
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", resolve, { once: true });
  });
}

// Server-sent events as objects, until [DONE].
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split(/\r?\n/).filter((line) => line.startsWith("data:"));
      const data = lines.map((line) => line.slice(5).trimStart()).join("\n");
      if (data === "[DONE]") return;
      if (data) yield JSON.parse(data);
    }
  }
}
