// An annotator's way through the study, from the welcome to the thanks.

import { bins } from "./bins.js";
import { conversation, el } from "./dom.js";
import { newKey, Outbox } from "./outbox.js";
import { choice, ratings } from "./questions.js";

const link = location.pathname.split("/a/")[1];
const page = document.getElementById("page");
const draw = { ratings, ab: choice, bins };
let session = null;
let items = new Map(); // position → item
let current = null; // { item, box, next, shown }
let goOn = null; // what to do once every click is saved

// ── talking to the server ──────────────────────────────────────────────────────────────────────────────────────

function send(path, body) {
  return fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "X-Study-Link": link, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
}

// Ask until the server answers; what it refuses is an error with its words.
async function ask(path, body) {
  for (let pause = 300; ; pause = Math.min(pause * 2, 4000)) {
    let response = null;
    try {
      response = await send(path, body);
    } catch {
      // The server is out of reach.
    }
    if (response && response.status < 500) {
      online();
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.error || "refused");
      return answer;
    }
    offline(outbox.waiting.length);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

const outbox = new Outbox(`empathia-study ${link}`, (entry) => send("/api/answers", entry), {
  saved(entry, body) {
    online();
    const time = new Date(body.saved * 1000).toLocaleTimeString();
    if (outbox.waiting.length) status("Saving…", "wait");
    else status(`✓ Saved ${time}`, "ok");
    settled();
  },
  offline,
  refused(entry, problem) {
    online();
    status("Not saved", "bad");
    goOn = () => start(problem);
    settled();
  },
});

function settled() {
  if (goOn && !outbox.waiting.length) {
    const step = goOn;
    goOn = null;
    attempt(step);
  }
}

function whenSaved(step) {
  goOn = step;
  if (!outbox.waiting.length) settled();
  else outbox.flush();
}

function offline(waiting) {
  const box = document.getElementById("offline");
  const kept = waiting === 1 ? "1 click is" : `${waiting} clicks are`;
  const text = waiting
    ? `You are offline, or the server is. ${kept} kept on this device and will be sent as soon as it answers.`
    : "You are offline, or the server is. Trying again…";
  if (box.textContent !== text) box.textContent = text;
  box.hidden = false;
  if (waiting) status("Not sent yet", "wait");
}

function online() {
  document.getElementById("offline").hidden = true;
}

function status(text, kind) {
  const node = document.getElementById("saved");
  node.textContent = text;
  node.dataset.kind = kind;
}

function say(text) {
  document.getElementById("spoken").textContent = text;
}

function notice(text) {
  page.prepend(el("p", { class: "notice", role: "alert" }, text));
}

// ── pages ──────────────────────────────────────────────────────────────────────────────────────────────────────

function show(...children) {
  page.replaceChildren(...children.filter((child) => child != null));
  window.scrollTo(0, 0);
  page.focus({ preventScroll: true });
}

function button(label, step, extra = {}) {
  return el("button", { type: "button", class: "main", onclick: () => attempt(step), ...extra }, label);
}

// What the server refuses sends the annotator back to where they stand, and says why.
async function attempt(step) {
  try {
    await step();
  } catch (problem) {
    await start(problem.message);
  }
}

function open(stage) {
  current = null;
  const pages = { welcome, check, practice: () => practice(0), work, screened, excluded };
  return pages[stage]();
}

function welcome() {
  show(
    el("h1", {}, session.title),
    ...session.instructions.map((text) => el("p", {}, text)),
    el("p", { class: "quiet" }, "Every click is saved at once. You may stop at any time, and go on later with the same link, also on another device."),
    el("div", { class: "steps" }, button("Begin", async () => {
      session = await ask("/api/begin", {});
      await open(session.stage);
    }))
  );
}

function check() {
  const questions = session.check.map((q, i) =>
    el("fieldset", { class: "scale column" }, el("legend", {}, el("b", {}, q.question)),
      el("div", { class: "levels" }, ...q.options.map((option, n) =>
        el("label", { class: "level" }, el("input", { type: "radio", name: `check-${i}`, value: n, required: true }),
          el("span", { class: "level-words" }, option))))));
  const form = el("form", { onsubmit: (event) => { event.preventDefault(); attempt(submit); } }, ...questions,
    el("div", { class: "steps" }, el("button", { class: "main" }, "Check my answers")));
  show(el("h1", {}, "A few questions first"),
    el("p", {}, `They make sure that the instructions were clear. You have ${session.tries_left === 1 ? "one try" : "two tries"}.`),
    el("details", {}, el("summary", {}, "Read the instructions again"), ...session.instructions.map((text) => el("p", {}, text))),
    form);

  async function submit() {
    form.querySelector("button").disabled = true;
    const answers = questions.map((q) => Number(q.querySelector(":checked").value));
    const result = await ask("/api/check", { answers });
    session = result.session;
    if (session.stage !== "check") return open(session.stage);
    check();
    const wrong = result.right.filter((good) => !good).length;
    notice(`${wrong === 1 ? "One answer was" : `${wrong} answers were`} not right. Please read the instructions again; you have one more try.`);
  }
}

function practice(number) {
  const item = { ...session.practice[number], value: {} };
  const total = session.practice.length;
  const feedback = el("div", { class: "feedback", role: "status" });
  const go = button("Check my answer", validate, { disabled: true });
  let box = paint({});
  show(el("p", { class: "quiet" }, `Warm-up ${number + 1} of ${total}: nothing here is counted.`), conversation(item.turns), box, feedback,
    el("div", { class: "steps" }, go));
  current = { box, next: go };

  function paint(marks) {
    const change = (value) => { item.value = value; go.disabled = !whole(item); };
    return draw[session.design](item, item.value, change, { scales: session.scales, marks, say });
  }

  async function validate() {
    const result = await ask("/api/practice", { item: number, value: item.value });
    const good = Object.values(result.marks).every(Boolean);
    const again = paint(result.marks);
    box.replaceWith(again);
    box = current.box = again;
    feedback.replaceChildren(el("p", {}, el("b", {}, good ? "Good, that fits. " : "Some of this we would see otherwise (marked). "), result.feedback));
    const last = number + 1 === total;
    const on = button(last ? "Start" : "Go on", last ? begin : () => practice(number + 1));
    go.replaceWith(on);
    current.next = on;
    on.focus();
  }

  async function begin() {
    session = await ask("/api/practised", {});
    await open(session.stage);
  }
}

async function work() {
  const found = await ask("/api/next", {});
  bar(found.done, found.total);
  if (found.state !== "work") return ({ thanks, full, paused })[found.state](found);
  for (const item of found.items) items.set(item.position, overlaid(item));
  const open = found.items.find((item) => !item.done) || found.items[0];
  await visit(open.position);
}

// What still waits in the outbox is newer than what the server knows.
function overlaid(item) {
  for (const [, entry] of outbox.waiting) {
    if (entry.item === item.item) Object.assign(item, { value: entry.value, done: item.done || entry.done });
  }
  return item;
}

async function visit(position) {
  if (!items.has(position)) items.set(position, overlaid(await ask(`/api/placed?position=${position}`)));
  const item = items.get(position);
  const next = button("Next", () => forward(item), { disabled: !whole(item) });
  const back = el("button", { type: "button", class: "plain", disabled: position === 0, onclick: () => attempt(() => leave(position - 1)) }, "Back");
  const box = draw[session.design](item, item.value, (value) => changed(item, value), { scales: session.scales, say, fixed: item.finished });
  current = { item, box, next, shown: performance.now() };
  show(conversation(item.turns), box, el("div", { class: "steps" }, back, next));
}

function seconds() {
  const { item } = current;
  const now = performance.now();
  if (document.visibilityState === "visible") item.seconds += (now - current.shown) / 1000;
  current.shown = now;
  return Math.min(86400, Math.round(item.seconds * 10) / 10);
}

document.addEventListener("visibilitychange", () => {
  if (!current?.item) return;
  if (document.visibilityState === "hidden") current.item.seconds += (performance.now() - current.shown) / 1000;
  current.shown = performance.now();
});

function changed(item, value) {
  item.value = value;
  current.next.disabled = !whole(item);
  status("Saving…", "wait");
  outbox.add({ key: newKey(), item: item.item, value, done: false, seconds: seconds() });
}

function leave(position) {
  seconds();
  return visit(position);
}

function forward(item) {
  if (!whole(item) || current.next.disabled) return;
  current.next.disabled = true;
  status("Saving…", "wait");
  outbox.add({ key: newKey(), item: item.item, value: item.value, done: true, seconds: seconds() });
  const first = !item.done;
  item.done = true;
  if (first) bar(done + 1, total);
  if (items.has(item.position + 1)) return visit(item.position + 1);
  // Past the newest item comes new work; before it, an earlier one that this page has not yet fetched.
  const newest = item.position >= Math.max(...items.keys());
  whenSaved(newest ? work : () => visit(item.position + 1));
}

function whole(item) {
  if (session.design === "ratings") return session.scales.every((scale) => item.value[scale.key]);
  if (session.design === "ab") return Boolean(item.value.choice);
  return Object.keys(item.value.bins || {}).length === item.replies.length;
}

let done = 0;
let total = 0;
function bar(now, of) {
  [done, total] = [now, Math.max(now, of)];
  const node = document.getElementById("progress");
  node.hidden = false;
  node.setAttribute("aria-valuemax", total);
  node.setAttribute("aria-valuenow", done);
  node.setAttribute("aria-valuetext", `${done} of ${total} done`);
  node.title = `${done} of ${total} done`;
  node.firstElementChild.style.width = `${total ? (100 * done) / total : 0}%`;
}

function thanks(found) {
  const links = found.completion_url
    ? el("p", {}, el("a", { class: "main", href: found.completion_url, rel: "noreferrer" }, "Finish and return"))
    : null;
  const bonus = found.bonus_possible
    ? el("p", { class: "bonus" }, `You earned ${found.bonus} of ${found.bonus_possible} bonus points.`)
    : null;
  const last = Math.max(-1, ...items.keys());
  show(el("h1", {}, "Thank you"),
    el("p", {}, `All done: your ${found.done} answers are saved. You can close this page.`), bonus, links,
    el("div", { class: "steps" },
      last >= 0 ? el("button", { type: "button", class: "plain", onclick: () => attempt(() => visit(last)) }, "Back to my last answer") : null,
      el("button", { type: "button", class: "plain", onclick: () => attempt(work) }, "Look for more")));
}

function full() {
  show(el("h1", {}, "Nothing left to do"), el("p", {}, "Others have taken all open places. Thank you for coming; you can close this page or look again later."),
    el("div", { class: "steps" }, el("button", { type: "button", class: "plain", onclick: () => attempt(work) }, "Look again")));
}

function paused() {
  show(el("h1", {}, "A short break"), el("p", {}, "The study is paused. Your answers are safe; please come back later with the same link."),
    el("div", { class: "steps" }, el("button", { type: "button", class: "plain", onclick: () => attempt(work) }, "Look again")));
}

function screened() {
  const away = session.screened_url ? el("p", {}, el("a", { class: "main", href: session.screened_url, rel: "noreferrer" }, "Return")) : null;
  show(el("h1", {}, "Thank you for trying"), el("p", {}, "The questions were not all answered as the instructions say, so the study ends here for you. Nothing else is needed."), away);
}

function excluded() {
  show(el("h1", {}, "Thank you"), el("p", {}, "Your part in this study is over."));
}

document.addEventListener("keydown", (event) => {
  if (!current || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("a, summary, button:not(.choice)");
  if (/^[1-5]$/.test(event.key)) {
    event.preventDefault();
    current.box.number(Number(event.key));
  } else if (event.key === "Enter" && !typing && !current.next.disabled) {
    event.preventDefault();
    current.next.click();
  }
});

async function start(problem = "") {
  outbox.flush();
  items = new Map();
  try {
    session = await ask("/api/session");
    document.title = session.title;
    document.getElementById("title").textContent = session.title;
    document.getElementById("contact").textContent = session.contact;
    await open(session.stage);
    if (problem) notice(problem);
  } catch (failure) {
    show(el("h1", {}, "This page cannot go on"), el("p", {}, failure.message), el("p", {}, "Please open your link again."));
  }
}

start();
