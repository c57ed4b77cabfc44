// A world that the tests hold: a clock that moves when told, chance with a seed, stores
// that can fail, and requests that go where a test wants.

/** Chance that can be repeated: mulberry32, after Tommy Ettinger's public-domain design. */
export function chance(seed) {
  const random = () => {
    seed = seed + 0x6d2b79f5 | 0;
    let t = Math.imul(seed ^ seed >>> 15, 1 | seed);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  };
  const below = (n) => Math.floor(random() * n);
  return {
    random, below,
    odds: (p) => random() < p,
    pick: (list) => list[below(list.length)],
    bytes: (n) => Uint8Array.from({ length: n }, () => below(256)),
  };
}

/** Lets everything run that waits for nothing but its turn. (Waiting for the event
 *  loop would be surer and far slower; the core's longest chain has about ten links.) */
export async function turn() {
  for (let i = 0; i < 24; i++) await null;
}

// One for all: making the trace of a new one takes longer than the step it ends.
export const ABORTED = new DOMException("aborted", "AbortError");

export class Clock {
  time = 1_780_000_000_000;
  timers = new Map();
  last = 0;

  now = () => this.time;

  wait = (ms, call) => {
    this.timers.set(++this.last, { at: this.time + Math.max(0, ms || 0), call });
    return this.last;
  };

  cancel = (timer) => { this.timers.delete(timer); };

  due(end) {
    let first;
    for (const [timer, { at }] of this.timers) {
      if (at <= end && (first === undefined || at < this.timers.get(first).at)) first = timer;
    }
    return first;
  }

  /** Moves on, timer by timer; each is followed by the given check. */
  async advance(ms, check = () => {}) {
    const end = this.time + ms;
    await turn();
    for (let timer = this.due(end); timer !== undefined; timer = this.due(end)) {
      const { at, call } = this.timers.get(timer);
      this.timers.delete(timer);
      this.time = Math.max(this.time, at);
      call();
      await turn();
      check();
    }
    this.time = end;
  }
}

/** A store as browsers have it. mode: "ok"; "full", where nothing can be written;
 *  "broken", where every call throws. */
export class Store {
  mode = "ok";
  faults = 0;

  constructor(entries = []) { this.map = new Map(entries); }

  fail(writing) {
    if (this.mode === "ok" || this.mode === "full" && !writing) return;
    this.faults++;
    throw new DOMException("no", "QuotaExceededError");
  }

  getItem(key) { this.fail(false); return this.map.has(key) ? this.map.get(key) : null; }
  setItem(key, value) { this.fail(true); this.map.set(key, String(value)); }
  removeItem(key) { this.fail(false); this.map.delete(key); }

  text() { return [...this.map.values()].join("\n"); }
  copy() { return new Store(this.map); }
}

/** What fetch resolves with. */
export function response(status, text, headers = {}) {
  return {
    status,
    headers: { get: (name) => headers[name] ?? null },
    json: async () => JSON.parse(text),
  };
}

export const ACTION = "https://forms.example.com/f/contact";

/** A stage for one client: the test answers its requests one by one. */
export class Stage {
  clock = new Clock();
  luck = chance(1);
  random = this.luck.random;
  session = new Store();
  local = new Store();
  requests = []; // {url, init, answer(outcome, …), fail(), …}, the newest last
  awake = [];
  seen = []; // states in order, as a listener had them
  options = {};

  constructor(connect, changes = {}) {
    this.connect = connect;
    Object.assign(this, changes);
    this.client = this.open();
  }

  open() {
    const client = this.connect({ action: ACTION, ...this.options, world: {
      fetch: (url, init) => this.fetch(url, init), now: this.clock.now, random: () => this.random(),
      bytes: this.luck.bytes, wait: this.clock.wait, cancel: this.clock.cancel,
      session: this.session, local: this.local, online: (call) => this.awake.push(call),
    } });
    client.on((status) => { if (this.seen.at(-1) !== status.state) this.seen.push(status.state); });
    return client;
  }

  /** The tab is loaded anew. */
  async reload() {
    this.client.close();
    this.client = this.open();
    this.resumed = this.client.resume();
    await this.advance(0);
  }

  fetch(url, init) {
    return new Promise((resolve, reject) => {
      const request = { url, init, at: this.clock.time, stored: this.session?.text() };
      init.signal.addEventListener("abort", () => reject(ABORTED));
      request.respond = (...it) => resolve(response(...it));
      request.fail = () => reject(new TypeError("Failed to fetch"));
      this.requests.push(request);
    });
  }

  get request() { return this.requests.at(-1); }
  get status() { return this.client.status(); }
  get posts() { return this.requests.filter(({ init }) => init.method === "POST"); }

  advance(ms) { return this.clock.advance(ms); }

  /** Presses Send; the request is on its way afterwards. */
  async press(fields = WORDS) {
    const promise = this.client.submit(fields);
    await this.advance(0);
    return { promise };
  }

  /** Answers the newest request with an outcome of our ID. */
  async answer(outcome, more = {}, headers = {}, status = 200) {
    const id = this.status.id;
    this.request.respond(status, JSON.stringify({ outcome, id, title: "t", detail: "d", ...more }), headers);
    await this.advance(0);
  }

  async problem(code, status, headers = {}) {
    this.request.respond(status, JSON.stringify({ type: "urn:formledger:problem:" + code, title: "t", status }), headers);
    await this.advance(0);
  }

  async html(status = 200, headers = {}) {
    this.request.respond(status, "<!DOCTYPE html><title>Log in</title>", headers);
    await this.advance(0);
  }

  async fail() {
    this.request.fail();
    await this.advance(0);
  }

  /** Moves on to the next try, whenever it is. */
  async next() {
    await this.advance(Math.max(0, this.status.next - this.clock.time));
  }
}

export const WORDS = [["name", "Ada Lovelace"], ["message", "Grüße & mehr\r\nzweite Zeile"], ["topic", "a"], ["topic", "b"]];
export const OTHER = [["name", "Ada Lovelace"], ["message", "another matter"]];
