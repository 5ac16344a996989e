// The bubbles. A view is {node, draw()}: draw brings the node up to date without replacing what may hold the focus.

import { isBusy, isGuarded, reminderOf } from "./conversation.js";
import { el } from "./dom.js";
import { marked } from "./evidence.js";

const SIDES = ["A", "B"];

const button = (label, click, attributes = {}) => el("button", { type: "button", class: "quiet", click, ...attributes }, label);

// What the person wrote. `on.edit` is offered on the last one.
export function heardView(turn, on) {
  const words = el("p", { class: "words", dir: "auto" });
  const edit = button("Edit", on.edit, { "aria-label": "Edit my last message" });
  const node = el("li", { class: "turn user" },
    el("span", { class: "visually-hidden" }, "You: "), el("div", { class: "bubble" }, words), el("p", { class: "under" }, edit));
  const draw = ({ last, busy, spans = [] }) => {
    words.replaceChildren(...marked(turn.text, spans));
    edit.parentNode.hidden = !last || busy;
  };
  return { turn, node, draw };
}

// What a model answered, or two models side by side until one reply is preferred. While it is blind which is which, the
// why is kept back too: evidence would tell.
export function answeredView(turn, on) {
  const node = el("li", { class: "turn listener" });
  let shown = null;
  const draw = (state) => {
    const kind = turn.chosen == null ? "pair" : "single";
    if (kind !== shown) {
      shown = kind;
      const view = kind === "pair" ? pairView(turn, on) : singleView(turn, on);
      node.replaceChildren(view.node);
      node.classList.toggle("wide", kind === "pair");
      draw.inner = view.draw;
    }
    draw.inner(state);
  };
  return { turn, node, draw };
}

function singleView(turn, on) {
  const answer = turn.answers[turn.chosen];
  const bubble = bubbleView(answer, on);
  const retry = button("Retry", on.retry);
  bubble.under.append(retry);
  const node = el("div", {}, el("span", { class: "visually-hidden" }, "empathia: "), bubble.node, voteNote(turn));
  const draw = (state) => {
    bubble.draw(state);
    retry.hidden = !state.last || state.busy || isGuarded(answer);
    bubble.under.hidden = retry.hidden && bubble.why.hidden;
  };
  return { node, draw };
}

function voteNote(turn) {
  if (!turn.vote) return null;
  const other = turn.answers[1 - turn.chosen];
  const [kept, left] = [turn.answers[turn.chosen].model, other.model];
  const note = turn.vote.choice === "tie" ? `You found ${kept} and ${left} the same.` : `You preferred ${kept} to ${left}.`;
  return el("details", { class: "vote-note" }, el("summary", {}, note), el("p", { class: "words", dir: "auto" }, other.text));
}

function pairView(turn, on) {
  const cards = turn.answers.map((answer, side) => {
    const bubble = bubbleView(answer, on);
    const name = el("h3", {}, `Reply ${SIDES[side]}`, turn.blind ? null : el("span", { class: "model" }, ` ${answer.model}`));
    return { bubble, node: el("article", { class: "card", "aria-label": `Reply ${SIDES[side]}` }, name, bubble.node) };
  });
  const choices = [[0, "A is better"], [null, "About the same"], [1, "B is better"]];
  const votes = choices.map(([better, label]) => button(label, () => on.vote(turn, better), { class: "choice" }));
  const alone = turn.answers.map((_, side) => button(`Go on with ${SIDES[side]}`, () => on.settle(turn, side), { class: "choice" }));
  const retry = button("Retry", on.retry);
  const question = el("p", { id: "question" }, "Which reply is better? The conversation goes on with it.");
  const group = el("div", { class: "choices", role: "group", "aria-labelledby": "question" }, ...votes, ...alone, retry);
  const node = el("div", {}, el("div", { class: "pair" }, ...cards.map((card) => card.node)), question, group);
  const draw = (state) => {
    for (const { bubble } of cards) bubble.draw({ ...state, secret: turn.blind });
    const done = turn.answers.map((answer) => answer.state === "done");
    const comparable = done.every(Boolean);
    const settled = !turn.answers.some(isBusy);
    question.hidden = !comparable;
    votes.forEach((choice) => (choice.hidden = !comparable));
    alone.forEach((choice, side) => (choice.hidden = comparable || !settled || !turn.answers[side].text));
    retry.hidden = !settled;
    group.hidden = !settled;
  };
  return { node, draw };
}

// One answer: its words as they come, what went wrong, the guard's reminder, and the way to its why.
function bubbleView(answer, on) {
  const words = el("p", { class: "words", dir: "auto" });
  const dots = el("p", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i"));
  const note = el("p", { class: "note" });
  const reminder = el("p", { class: "reminder words", dir: "auto" });
  const origin = el("p", { class: "origin" }, "A fixed text, not written by a model");
  const why = button("Why this reply", () => on.why(answer));
  const under = el("p", { class: "under" }, why);
  const bubble = el("div", { class: "bubble", click: () => getSelection().isCollapsed && !why.hidden && on.select(answer) },
    origin, words, dots, note, reminder);
  const draw = ({ selected, secret = false }) => {
    words.textContent = answer.text;
    words.hidden = !answer.text;
    dots.hidden = answer.state !== "waiting";
    note.textContent = noteOn(answer);
    note.hidden = !note.textContent;
    reminder.textContent = reminderOf(answer);
    reminder.hidden = !reminder.textContent;
    origin.hidden = !isGuarded(answer);
    why.hidden = secret || answer.state !== "done";
    why.setAttribute("aria-pressed", String(selected === answer));
    bubble.classList.toggle("guarded", isGuarded(answer));
    bubble.classList.toggle("selected", selected === answer);
    bubble.classList.toggle("explained", !why.hidden);
  };
  return { node: el("div", {}, bubble, under), draw, why, under };
}

function noteOn(answer) {
  if (answer.state === "stopped") return answer.text ? "Stopped here." : "Stopped before the first word.";
  if (answer.state === "failed") return answer.problem;
  return answer.state === "done" && !answer.text ? "No words came." : "";
}
