// Votes on two replies to the same message, kept in this page until they are exported for `empathia study votes`.

import { wordsOf } from "./conversation.js";
import { topEmotion } from "./evidence.js";

// Also on pages without HTTPS, where crypto.randomUUID is missing.
export const newId = () => [...crypto.getRandomValues(new Uint8Array(12))].map((b) => b.toString(16).padStart(2, "0")).join("");

const session = newId();
const CHOICES = ["a", "b"];

// The study's row for a turn with two finished answers; `better` is 0, 1 or null (the same).
export function voteOn(turn, better) {
  const [a, b] = turn.answers.map(({ model, text }) => ({ system: model, reply: text }));
  const context = turn.answers[0].context.map((said) => (
    { speaker: said.role === "user" ? "speaker" : "listener", text: wordsOf(said) }
  ));
  const emotion = turn.answers.map((answer) => topEmotion(answer.reply)).find(Boolean);
  const row = { id: newId(), session, time: Date.now() / 1000, context, a, b, choice: CHOICES[better] ?? "tie" };
  return emotion ? { ...row, emotion } : row;
}

export const asLines = (votes) => votes.map((vote) => `${JSON.stringify(vote)}\n`).join("");
