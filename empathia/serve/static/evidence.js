// Reading evidence: what is likeliest, how good it feels, and which words of a text stood out.

import { el } from "./dom.js";

export const ranked = (scores) => Object.entries(scores ?? {}).sort(([, a], [, b]) => b - a);

export const topEmotion = (reply) => ranked(reply?.evidence?.emotion)[0]?.[0] ?? null;

export const percent = (share) => `${Math.round(share * 100)} %`;

// Probability that the speaker feels good: as perceived, or else summed over the positive emotions.
export function polarityOf(evidence, positive) {
  if (evidence.polarity != null) return evidence.polarity;
  return ranked(evidence.emotion).reduce((sum, [name, share]) => sum + (positive.includes(name) ? share : 0), 0);
}

// [first, past-last] pairs of one turn, in order and without overlaps.
export function spansIn(turn, causeWords) {
  let end = 0;
  return (causeWords ?? [])
    .filter(([at]) => at === turn)
    .map(([, first, last]) => [first, last])
    .sort(([a], [b]) => a - b)
    .filter(([first, last]) => first >= end && last > first && (end = last));
}

// Text with <mark> around the spans. Spans count characters as Python does, not JavaScript's halves of them.
export function marked(text, spans) {
  const characters = [...text];
  const nodes = [];
  let at = 0;
  for (const [first, last] of spans) {
    nodes.push(characters.slice(at, first).join(""), el("mark", {}, characters.slice(first, last).join("")));
    at = last;
  }
  return [...nodes, characters.slice(at).join("")].filter((node) => node !== "");
}
