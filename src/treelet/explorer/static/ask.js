// Requests to the explorer's server, which runs on the same machine.

const BODY = 256 * 1024; // bytes that the server accepts

export class RequestError extends Error {
  constructor({message, field = null, line = null, column = null}) {
    super(message);
    Object.assign(this, {field, line, column});
  }
}

export async function ask(path, fields = {}, signal = undefined) {
  const body = JSON.stringify(fields);
  if (body.length > BODY) {
    throw new RequestError({message: `The request is larger than ${BODY / 1024} KiB. Enter smaller trees, or use the command line.`, field: "tree"});
  }
  let response;
  try {
    const headers = {"Content-Type": "application/json"};
    response = await fetch(`/ask/${path}`, {method: "POST", headers, body, signal});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError({message: "The server does not respond. Check that treelet explore is still running."});
  }
  const content = await response.json().catch(() => ({error: {message: `The server responded with HTTP status ${response.status}.`}}));
  if (content.error) throw new RequestError(content.error);
  return content;
}

const PATIENCE = 150; // milliseconds after which a running request is aborted in favor of a newer one

// Sends requests of one kind, of which only the newest matters: one is running, and at most one waits. Therefore results keep
// coming while a slider moves, and an old result never replaces a newer one.
export class LatestRequest {
  constructor(path, onResult, onError) {
    Object.assign(this, {path, onResult, onError, waiting: null, running: null});
  }

  send(fields) {
    this.waiting = fields;
    if (!this.running) this.next();
    else if (performance.now() - this.running.since > PATIENCE) this.running.controller.abort();
  }

  async next() {
    const fields = this.waiting, controller = new AbortController();
    this.waiting = null;
    this.running = {controller, since: performance.now()};
    try {
      const result = await ask(this.path, fields, controller.signal);
      this.onResult(result, fields);
    } catch (error) {
      if (error.name !== "AbortError" && !this.waiting) this.onError(error, fields);
    } finally {
      this.running = null;
      if (this.waiting) this.next();
    }
  }
}
