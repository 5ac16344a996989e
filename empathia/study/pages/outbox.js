// Clicks on their way to the server. Each is written to localStorage before it is sent and taken out only when the
// server has said it is saved, so it survives a reload, a closed tab and a dead server. The key makes a second
// sending harmless. Every click has a place of its own, so two tabs cannot overwrite each other's.

const PAUSES = [300, 600, 1000, 2000, 4000];
const LATER = [401, 408, 429]; // not this click's fault: keep it and try again
let count = 0;

export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

export class Outbox {
  // post(entry) → Response; on.saved(entry, body), on.offline(waiting), on.refused(entry, problem)
  constructor(name, post, on) {
    this.prefix = `${name}/`;
    this.post = post;
    this.on = on;
    this.memory = new Map();
    this.failures = 0;
    this.sending = false;
    this.timer = 0;
    window.addEventListener("online", () => this.flush());
    window.addEventListener("beforeunload", (event) => {
      if (this.memory.size) event.preventDefault();
    });
  }

  // [place, entry] of every unsent click, oldest first.
  get waiting() {
    const found = [...this.memory];
    try {
      for (let i = 0; i < localStorage.length; i++) {
        const place = localStorage.key(i);
        if (place.startsWith(this.prefix)) found.push([place, JSON.parse(localStorage.getItem(place))]);
      }
    } catch {
      // No storage in this browser mode: what is in memory is all there is.
    }
    return found.sort(([a], [b]) => (a < b ? -1 : 1));
  }

  add(entry) {
    const order = `${String(Date.now()).padStart(15, "0")}-${String(count++).padStart(6, "0")}`;
    const place = `${this.prefix}${order}-${entry.key}`;
    try {
      localStorage.setItem(place, JSON.stringify(entry));
    } catch {
      this.memory.set(place, entry);
    }
    this.flush();
  }

  remove(place) {
    if (!this.memory.delete(place)) localStorage.removeItem(place);
  }

  async flush() {
    if (this.sending) return;
    this.sending = true;
    clearTimeout(this.timer);
    try {
      for (let [next] = this.waiting; next; [next] = this.waiting) {
        const [place, entry] = next;
        const response = await this.post(entry);
        if (response.status >= 500 || LATER.includes(response.status)) throw new Error("not now");
        const body = await response.json();
        this.failures = 0;
        this.remove(place);
        if (response.ok) this.on.saved(entry, body);
        else this.on.refused(entry, body.error || "refused");
      }
    } catch {
      this.on.offline(this.waiting.length);
      const pause = PAUSES[Math.min(this.failures, PAUSES.length - 1)];
      this.failures += 1;
      this.timer = setTimeout(() => this.flush(), pause);
    } finally {
      this.sending = false;
    }
  }
}
