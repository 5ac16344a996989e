// What can go wrong on the way to the server, and how to say it kindly, with what to do next.

export class Problem extends Error {
  constructor(status, { message = "", code = null } = {}, wait = null) {
    super(message);
    this.status = status; // of the response; 0: a reply broke off
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
  const { status, code, message, wait } = error;
  if (code === "no_model") return "The server has no model to answer with. Please tell whoever runs it.";
  if (status === 503 || status === 429) {
    const why = status === 503 ? "Many people are being answered just now." : "That was a little fast for this server.";
    const when = wait ? `in ${wait} ${wait === 1 ? "second" : "seconds"}` : "in a moment";
    return `${why} Nothing is lost: please press Retry ${when}.`;
  }
  if (status === 401) return "This server answers only with its key. Please send again and type it.";
  if (status === 504) return "It took too long. Please press Retry, or ask another model.";
  if (status >= 500) return "Something went wrong on the server. Please press Retry.";
  if (status === 0) return "The reply broke off. Press Retry for another one.";
  return `The server could not use this: ${message || status}. Please edit your message, change how to answer, or start over.`;
}
