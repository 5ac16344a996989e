// What can go wrong on the way to the server, and how to say it kindly, with what to do next.

export class Problem extends Error {
  constructor(status, { message = "", code = null } = {}, wait = null) {
    super(message);
    this.status = status; // of the response; 0: it ended early
    this.code = code;
    this.wait = wait; // seconds, if the server named them
  }

  static async of(response) {
    const body = await response.json().catch(() => ({}));
    const wait = Number(response.headers.get("Retry-After"));
    return new Problem(response.status, body.error, wait > 0 ? Math.ceil(wait) : null);
  }
}

export function kindly(error) {
  if (!(error instanceof Problem)) {
    return "The server cannot be reached. Please check that it is still running, then press Retry.";
  }
  const said = error.message ? `${error.message.replace(/[.!]?\s*$/, "")}. ` : "";
  if (error.code === "no_model") return `${said}Please tell whoever runs this server.`;
  if (error.status === 503 || error.status === 429) {
    const when = error.wait ? `in ${error.wait} ${error.wait === 1 ? "second" : "seconds"}` : "in a moment";
    const why = error.status === 503 ? "Many people are being answered just now." : "That was a little fast.";
    return `${why} Nothing is lost: please press Retry ${when}.`;
  }
  if (error.status === 413) return `${said || "That is too long for this server. "}Please edit your message, or start over.`;
  if (error.status >= 500) return `${said || "Something went wrong on the server. "}Please press Retry.`;
  if (error.status === 0) return `${said || "The reply broke off. "}Press Retry for another one.`;
  return `${said || "The server did not understand. "}Please edit your message or change how to answer.`;
}
