// Why this reply: everything the server said about one answer. A part without evidence is not shown.

import { feelingChart } from "./chart.js";
import { isGuarded, wordsOf } from "./conversation.js";
import { el } from "./dom.js";
import { marked, percent, polarityOf, ranked, spansIn } from "./evidence.js";
import { LEVELS, MECHANISMS, RELATIONS } from "./labels.js";

const folded = new Set(["candidates", "timings"]); // parts that are closed, for every reply alike

// turns: the conversation's, for the chart; positive: the emotions that feel good.
export function whyParts(answer, turns, positive) {
  const { reply, context, wish } = answer;
  if (isGuarded(answer)) {
    return [el("p", { class: "plain" }, "This is a fixed text of the crisis guard. It stands before every model: none was asked, and none wrote a word of it.")];
  }
  const evidence = reply.evidence ?? {};
  return [
    part("feeling", "The feeling in your words", feeling(answer, evidence, turns, positive)),
    part("causes", "The words that mattered", causes(context, evidence)),
    part("plan", "How it meant to answer", plan(evidence, wish)),
    part("exemplars", "Replies from similar moments", exemplars(evidence.exemplars)),
    part("inferences", "What it guessed around it", inferences(evidence.inferences)),
    part("candidates", "What it weighed", candidates(answer)),
    part("timings", "How long it took", timings(reply.timings)),
    el("p", { class: "plain" }, `Answered by ${reply.model ?? answer.model}.`),
  ].filter(Boolean);
}

function part(name, title, content) {
  if (!content.length) return null;
  const toggled = (event) => (event.target.open ? folded.delete(name) : folded.add(name));
  return el("details", { class: "part", "data-part": name, open: !folded.has(name), toggle: toggled },
    el("summary", {}, el("h3", {}, title)), ...content);
}

function bar(label, share, value) {
  const fill = el("i");
  fill.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return el("li", { class: "bar" }, el("span", { class: "label" }, label),
    el("span", { class: "track", "aria-hidden": "true" }, fill), el("span", { class: "value" }, value));
}

const bars = (entries, most) => el("ul", { class: "bars" }, entries.slice(0, most).map(([name, share]) => bar(name, share, percent(share))));

function feeling(answer, evidence, turns, positive) {
  const parts = [];
  if (evidence.emotion) parts.push(bars(ranked(evidence.emotion), 4));
  const points = turns
    .filter((turn) => turn.role === "assistant")
    .map((turn) => (turn.answers.includes(answer) ? answer : turn.answers[turn.chosen]))
    .filter((one) => one?.reply?.evidence?.emotion)
    .map((one) => ({
      number: one.context.filter((turn) => turn.role === "user").length,
      emotion: ranked(one.reply.evidence.emotion)[0][0],
      polarity: polarityOf(one.reply.evidence, positive),
      selected: one === answer,
    }));
  if (evidence.emotion) parts.push(feelingChart(points));
  return parts;
}

function causes(context, evidence) {
  const numbers = new Set([...(evidence.causes ?? []), ...(evidence.cause_words ?? []).map(([turn]) => turn)]);
  return [...numbers].sort((a, b) => a - b).filter((i) => context[i]).map((i) =>
    el("blockquote", { class: "words", dir: "auto" }, marked(wordsOf(context[i]), spansIn(i, evidence.cause_words))));
}

function plan(evidence, wish) {
  const parts = [];
  const asked = [wish?.intent, wish?.emotion].filter(Boolean);
  if (asked.length) parts.push(el("p", { class: "plain" }, "You asked for ", el("b", {}, asked.join(" and ")), "."));
  if (evidence.intent) parts.push(bars(ranked(evidence.intent), 3));
  if (evidence.mechanisms) {
    parts.push(el("ul", { class: "bars" }, Object.entries(evidence.mechanisms).map(([name, level]) =>
      bar(MECHANISMS[name]?.[0] ?? name, level / 2, LEVELS[Math.round(level)] ?? String(level)))));
  }
  return parts;
}

function exemplars(found) {
  if (!found?.length) return [];
  return [el("ul", { class: "cards" }, found.map((one) => {
    const about = [one.emotion, one.score == null ? "" : `score ${one.score.toFixed(2)}`, one.source].filter(Boolean);
    return el("li", {},
      one.context ? el("p", { class: "plain words", dir: "auto" }, one.context) : null,
      el("p", { class: "words", dir: "auto" }, one.reply), el("p", { class: "small" }, about.join(" · ")));
  }))];
}

function inferences(found) {
  if (!found?.length) return [];
  return [el("ul", { class: "guesses" }, found.map((one) =>
    el("li", {}, el("span", { class: "plain" }, RELATIONS[one.relation] ?? one.relation), " ", el("span", {}, one.text),
      one.score == null ? null : el("span", { class: "small" }, ` ${one.score.toFixed(2)}`))))];
}

function candidates({ reply, text }) {
  const found = reply.candidates ?? [];
  if (!found.length) return [];
  const names = [...new Set(found.flatMap((one) => Object.keys(one.scores ?? {})))];
  const chosen = found.findIndex((one) => one.text.trim() === text.trim());
  const head = el("tr", {}, el("th", { scope: "col" }, "Candidate"), names.map((name) => el("th", { scope: "col" }, name.replaceAll("_", " "))));
  const rows = found.map((one, i) => el("tr", { class: i === chosen ? "chosen" : null },
    el("td", { class: "words", dir: "auto" }, i === chosen ? el("b", { class: "tag" }, "chosen") : null, one.text),
    names.map((name) => el("td", { class: "number" }, one.scores?.[name]?.toFixed(2) ?? "–"))));
  return [el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Candidates and their scores" },
    el("table", {}, el("thead", {}, head), el("tbody", {}, rows)))];
}

function timings(stages) {
  const entries = Object.entries(stages ?? {});
  if (!entries.length) return [];
  return [el("dl", { class: "timings" }, entries.map(([stage, seconds]) =>
    el("div", {}, el("dt", {}, stage.replaceAll("_", " ")), el("dd", {}, seconds == null ? "–" : `${seconds.toFixed(2)} s`))))];
}
