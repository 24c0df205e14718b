// Questions to the server, this machine's own.

const BODY = 256 * 1024; // bytes that the server takes

export class AskError extends Error {
  constructor({message, field = null, line = null, column = null}) {
    super(message);
    Object.assign(this, {field, line, column});
  }
}

export async function ask(what, fields = {}, signal = undefined) {
  const body = JSON.stringify(fields);
  if (body.length > BODY) throw new AskError({message: `more than ${BODY / 1024} KiB are not sent: take smaller trees, or the command line`, field: "tree"});
  let response;
  try {
    const headers = {"Content-Type": "application/json"};
    response = await fetch(`/ask/${what}`, {method: "POST", headers, body, signal});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new AskError({message: "the server does not answer: is treelet explore still running?"});
  }
  const found = await response.json().catch(() => ({error: {message: `the server said ${response.status}`}}));
  if (found.error) throw new AskError(found.error);
  return found;
}

const PATIENCE = 150; // milliseconds: an answer that takes longer is not waited for when there is a newer question

// Questions of one kind, of which only the newest matters: one is under way, and at most one waits. So answers keep coming while a
// slider moves, and none comes late.
export class Latest {
  constructor(what, answered, failed) {
    Object.assign(this, {what, answered, failed, waiting: null, running: null});
  }

  ask(fields) {
    this.waiting = fields;
    if (!this.running) this.next();
    else if (performance.now() - this.running.since > PATIENCE) this.running.abort.abort();
  }

  async next() {
    const fields = this.waiting, abort = new AbortController();
    this.waiting = null;
    this.running = {abort, since: performance.now()};
    try {
      const found = await ask(this.what, fields, abort.signal);
      this.answered(found, fields);
    } catch (error) {
      if (error.name !== "AbortError" && !this.waiting) this.failed(error, fields);
    } finally {
      this.running = null;
      if (this.waiting) this.next();
    }
  }
}
