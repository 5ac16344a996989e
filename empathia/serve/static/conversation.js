// The conversation, in this page's memory only.
//
// A turn is {role: "user", text} or {role: "assistant", answers, chosen, blind, vote}. An answer is one try of one model; two
// models compared give a turn with two answers, of which one is chosen by the vote. An answer's `context` are the turns
// it answers: the turn numbers of its evidence count these.

import { kindly, Problem } from "./problems.js";

export class Conversation {
  turns = [];

  hear(text) {
    this.turns.push({ role: "user", text });
  }

  // A turn for what these models will say; [name, …] in the order shown.
  answer(models, wish, blind) {
    const context = this.turns.filter((turn) => wordsOf(turn));
    const answers = models.map((model) => (
      { model, wish, context, text: "", state: "waiting", reply: null, problem: null }
    ));
    const turn = { role: "assistant", answers, chosen: answers.length === 1 ? 0 : null, blind, vote: null };
    this.turns.push(turn);
    return turn;
  }

  get lastHeard() {
    return this.turns.findLast((turn) => turn.role === "user");
  }

  // Takes away everything after a turn, and the turn too unless `keep`.
  backTo(turn, keep) {
    this.turns.length = this.turns.indexOf(turn) + (keep ? 1 : 0);
  }

  // Everything that was said and seen, as plain data.
  asData(votes) {
    return {
      format: "empathia conversation",
      version: 1,
      exported: new Date().toISOString(),
      turns: this.turns.map((turn) => turn.role === "user"
        ? { role: "user", content: turn.text }
        : { role: "assistant", content: wordsOf(turn), chosen: turn.chosen, blind: turn.blind, answers: turn.answers.map(plainAnswer) }),
      votes,
    };
  }
}

const plainAnswer = ({ model, wish, state, text, reply, problem }) => ({ model, wish, state, text, ...reply, problem });

export const wordsOf = (turn) => (turn.role === "user" ? turn.text : turn.answers[turn.chosen]?.text ?? "");

export const messagesOf = (turns) => turns.map((turn) => ({ role: turn.role, content: wordsOf(turn) }));

export const isBusy = (answer) => answer.state === "waiting" || answer.state === "writing";

// The guard's fixed text stands instead of a reply, or (a reminder) under it.
export const isGuarded = (answer) => Boolean(answer.reply?.guard?.replaces_reply);
export const reminderOf = (answer) => (isGuarded(answer) ? "" : answer.reply?.guard?.text ?? "");

// Lets the server write an answer; `changed()` is called whenever there is something new to see.
export async function write(answer, server, signal, changed) {
  const { model, wish } = answer;
  try {
    for await (const event of server.reply({ messages: messagesOf(answer.context), model, wish }, signal)) {
      if (event.delta) {
        answer.state = "writing";
        answer.text += event.delta;
      } else if (event.reply) {
        finish(answer, event.reply);
      }
      changed();
    }
    if (isBusy(answer)) throw new Problem(0);
  } catch (error) {
    if (isBusy(answer)) {
      answer.state = signal.aborted ? "stopped" : "failed";
      answer.problem = signal.aborted ? null : kindly(error);
    }
  }
  changed();
}

function finish(answer, reply) {
  answer.state = "done";
  answer.reply = reply;
  const reminder = reminderOf(answer);
  answer.text = reminder && reply.text.endsWith(reminder) ? reply.text.slice(0, -reminder.length).trimEnd() : reply.text;
}
