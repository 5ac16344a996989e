// The page: joins the conversation, its bubbles, the controls, the why panel and the server.

import { Controls } from "./controls.js";
import { Conversation, isGuarded, write } from "./conversation.js";
import { byId, download, el } from "./dom.js";
import { spansIn } from "./evidence.js";
import { askKey } from "./keydialog.js";
import { answeredView, heardView } from "./messages.js";
import { kindly } from "./problems.js";
import { Server } from "./server.js";
import { remembered } from "./store.js";
import { themeButton } from "./theme.js";
import { asLines, voteOn } from "./votes.js";
import { whyParts } from "./why.js";

const WAITING = {
  loading: "empathia is waking up. This can take a minute; you can write already.",
  broken: "The server runs, but has no model to answer with. Whoever runs it can see why in its log.",
  away: "The server cannot be reached. Trying again…",
};
const words = byId("words");
const talk = byId("talk");
const votes = [];
const server = new Server({ key: remembered("key"), askKey, waiting: (why) => notice(WAITING[why]) });
const controls = new Controls();
let conversation = new Conversation();
let views = []; // one per turn
let taxonomy = { positive: [] };
let selected = null; // the answer that the why panel explains
let writing = null; // AbortController while something is being written
let editing = false;
let following = true; // the end of the talk stays in sight until someone scrolls up

// ── saying and hearing ─────────────────────────────────────────────────────────────────────────────────────────

async function send() {
  const text = words.value.trim();
  if (!text || writing) return;
  if (undecided()) return notice("Please choose the better reply first.");
  if (!controls.models.length) begin();
  if (editing) conversation.backTo(conversation.lastHeard, false);
  edit(false);
  words.value = "";
  grow();
  notice();
  conversation.hear(text);
  await respond(controls.wish);
}

// Has the last message answered, by one model or by two.
async function respond(wish) {
  const models = controls.asked;
  const blind = models.length === 2 && controls.blind;
  if (blind && Math.random() < 0.5) models.reverse();
  conversation.backTo(conversation.lastHeard, true);
  const turn = conversation.answer(models, wish, blind);
  writing = new AbortController();
  const { signal } = writing;
  following = true;
  draw();
  say("empathia is writing.");
  await Promise.all(turn.answers.map((answer) => write(answer, server, signal, () => drawTurn(turn))));
  if (signal !== writing?.signal) return; // a new conversation has begun
  writing = null;
  settleGuarded(turn);
  const done = turn.answers.find((answer) => answer.state === "done");
  if (done && !(turn.blind && undecided())) selected = done;
  draw();
  say(turn.answers.map((answer) => [answer.text, answer.problem].filter(Boolean).join(" ")).join(" — "));
}

// The guard's text is the same whichever model was asked: there is nothing to compare.
function settleGuarded(turn) {
  const guarded = turn.answers.findIndex(isGuarded);
  if (turn.chosen == null && guarded >= 0) turn.chosen = guarded;
}

function retry() {
  if (writing) return;
  edit(false);
  respond({ stochastic: true, ...controls.wish, seed: crypto.getRandomValues(new Uint32Array(1))[0] >>> 1 });
  words.focus();
}

function stop() {
  writing?.abort();
  words.focus();
}

function edit(on) {
  if (on && !editing) words.value = conversation.lastHeard.text;
  if (!on && editing) words.value = "";
  editing = on;
  byId("editing").hidden = !on;
  grow();
  draw();
  if (on) words.focus();
}

// ── comparing ──────────────────────────────────────────────────────────────────────────────────────────────────

const undecided = () => !editing && conversation.turns.at(-1)?.chosen === null;

function vote(turn, better) {
  notice();
  turn.vote = voteOn(turn, better);
  votes.push(turn.vote);
  settle(turn, better ?? 0);
}

function settle(turn, side) {
  turn.chosen = side;
  selected = turn.answers[side].state === "done" ? turn.answers[side] : selected;
  draw();
  words.focus();
}

// ── beginning anew, taking along ───────────────────────────────────────────────────────────────────────────────

function reset() {
  const before = conversation;
  writing?.abort();
  writing = null;
  conversation = new Conversation();
  selected = null;
  edit(false);
  const back = el("button", { type: "button", class: "quiet", click: () => restore(before) }, "Bring it back");
  notice(before.turns.length ? "A new conversation." : "", back);
  words.focus();
}

function restore(before) {
  conversation = before;
  notice();
  draw();
  words.focus();
}

const stamp = () => new Date().toISOString().slice(0, 19).replaceAll(":", "-");

function exportConversation() {
  download(`empathia-${stamp()}.json`, "application/json", `${JSON.stringify(conversation.asData(votes), null, 2)}\n`);
}

function exportVotes() {
  download(`votes-${stamp()}.jsonl`, "application/jsonl", asLines(votes));
}

// ── why ────────────────────────────────────────────────────────────────────────────────────────────────────────

const isOpen = () => !byId("why").hidden;
const isDrawer = () => matchMedia("(max-width: 62rem)").matches;

function openWhy(open) {
  byId("why").hidden = !open;
  byId("why-toggle").setAttribute("aria-expanded", String(open));
  draw();
  if (open && isDrawer()) byId("why-title").focus();
}

function closeWhy() {
  const opener = byId("turns").querySelector("[aria-pressed=true]") ?? byId("why-toggle");
  openWhy(false);
  opener.focus();
}

function select(answer) {
  selected = answer;
  draw();
}

// ── drawing ────────────────────────────────────────────────────────────────────────────────────────────────────

const on = { edit: () => edit(true), retry, vote, settle, select, why: (answer) => { selected = answer; openWhy(true); } };

// Everything but the words that are just coming.
function draw() {
  const { turns } = conversation;
  views = turns.map((turn) => views.find((view) => view.turn === turn) ?? (turn.role === "user" ? heardView : answeredView)(turn, on));
  const list = byId("turns");
  for (const node of [...list.children]) if (!views.some((view) => view.node === node)) node.remove();
  list.append(...views.filter((view) => !view.node.isConnected).map((view) => view.node));
  turns.forEach(drawTurn);
  byId("welcome").hidden = turns.length > 0;
  byId("reset").disabled = byId("export").disabled = turns.length === 0;
  byId("send").hidden = Boolean(writing);
  byId("stop").hidden = !writing;
  words.placeholder = undecided() ? "Choose the better reply first" : turns.length ? "Write your answer…" : "Write what you feel…";
  byId("export-votes").hidden = votes.length === 0;
  byId("export-votes").textContent = `Export ${votes.length} ${votes.length === 1 ? "vote" : "votes"}`;
  drawWhy();
}

function drawTurn(turn) {
  const { turns } = conversation;
  const view = views.find((one) => one.turn === turn);
  if (!view) return;
  const last = turn === (turn.role === "user" ? conversation.lastHeard : turns.at(-1));
  const place = selected && isOpen() ? selected.context.indexOf(turn) : -1;
  view.draw({
    last, selected: isOpen() ? selected : null, busy: Boolean(writing) || editing,
    spans: turn.role === "user" ? spansIn(place, selected?.reply.evidence?.cause_words) : [],
  });
  view.node.classList.toggle("put-aside", editing && turns.indexOf(turn) >= turns.indexOf(conversation.lastHeard));
  if (following) toEnd();
}

function drawWhy() {
  if (!conversation.turns.some((turn) => turn.answers?.includes(selected))) selected = null;
  if (!isOpen()) return;
  const none = el("p", { class: "plain" }, "Once a reply is there, this says what empathia noticed and weighed before it answered.");
  byId("why-parts").replaceChildren(...(selected ? whyParts(selected, conversation.turns, taxonomy.positive) : [none]));
}

function notice(text = "", ...more) {
  byId("notice").replaceChildren(...(text ? [text, ...more] : []));
  byId("notice").hidden = !text;
}

function say(text) {
  byId("spoken").textContent = text;
}

function toEnd() {
  talk.scrollTop = talk.scrollHeight;
}

function grow() {
  words.style.height = "auto";
  words.style.height = `${words.scrollHeight + 2}px`;
}

// ── listening ──────────────────────────────────────────────────────────────────────────────────────────────────

byId("write").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
  words.focus();
});
words.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
words.addEventListener("input", grow);
talk.addEventListener("scroll", () => (following = talk.scrollHeight - talk.scrollTop - talk.clientHeight < 80));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || byId("key-dialog").open) return;
  if (writing) stop();
  else if (editing) edit(false);
  else if (isOpen()) closeWhy();
});
byId("stop").addEventListener("click", stop);
byId("cancel").addEventListener("click", () => { edit(false); words.focus(); });
byId("reset").addEventListener("click", reset);
byId("export").addEventListener("click", exportConversation);
byId("export-votes").addEventListener("click", exportVotes);
byId("why-toggle").addEventListener("click", () => openWhy(!isOpen()));
byId("why-close").addEventListener("click", closeWhy);
themeButton(byId("theme"));

async function begin() {
  draw();
  try {
    const health = await server.ready();
    document.body.toggleAttribute("data-keeps", health.keeps_conversations === true);
    const [labels, models] = await Promise.all([server.get("/v1/taxonomy"), server.get("/v1/models")]);
    taxonomy = labels;
    if (!controls.models.length) controls.offer(taxonomy, models.data);
  } catch (error) {
    notice(kindly(error));
  }
}

begin();
