// The headless core of the browser client: one form, one enquiry at a time, and
// what is known of it. It touches no page. core.d.ts says what each part is for.
//
// The laws, in short. The ID and the body are saved before the first byte leaves.
// A retry is the saved body under the same ID. Once a byte may have left, only the
// visitor's own act leads to another ID. "accepted" and "not_sent" are said only if
// the server said so of this very ID. Stores, timers and events make it comfortable;
// correctness rests on the ID alone.

const TRIES = 6; // posts after a press of Send, before it only tries now and then
const SECOND = 1000;
const LIMIT = 15 * SECOND; // for one request, its whole answer included
const APART = 2 * SECOND; // between tries that an event or the visitor calls for
const PATIENCE = 600 * SECOND; // the longest Retry-After that is believed

// What an answer may say; a receipt only the first five. (Its "unseen" is like no
// answer: the saved body is posted again.)
const OUTCOMES = "accepted queued processing uncertain not_sent conflict invalid limited challenge".split(" ");

const BLANK = {
  state: "draft", id: "", reference: "", print: "", body: "", attempts: 0, quiet: false, answer: null, draft: null,
};

export function connect({ action, lang, world: given }) {
  // Taken apart, because a browser's own functions do not like to be called as methods.
  const { fetch, now, random, bytes, wait, cancel, session, local, online } = { ...browser(), ...given };
  const key = "formledger " + action;
  let s = { ...BLANK, ...read(session, key) }; // all that a reload survives
  let flight = null; // the AbortController of the request under way; never two at once
  let timer, next = 0; // the next try, or the end of the flight's patience
  let began = 0; // when the last request began
  let until = 0; // no try before this: the server's Retry-After
  let looks = 0; // at the receipt, in vain; spaces them out
  let promise, resolve; // of submit and resume, while the state is sending
  let calls = [];
  let closed = false;

  // ---- What is known, and how it changes

  const settled = () => s.state === "accepted" || s.state === "queued";

  /** Whether it goes on by itself. */
  const active = () => /^(sending|unreached|uncertain)$/.test(s.state)
    || s.state === "limited" && (!!flight || s.attempts < TRIES);

  /** Whether to ask the receipt instead of posting. While sending, the only answer
   *  there can be is "processing". */
  const following = () => s.state === "uncertain" || s.state === "sending" && s.answer;

  function status() {
    const { print, body, draft, used, ...known } = s;
    const safeNewID = !active() && !!s.answer?.safe_new_id;
    return { ...known, next, safeNewID };
  }

  /** The only way from one state to another. Saves first, then tells. Listeners are
   *  called a moment later, so that none can come between, and none's fault does harm. */
  function move(change, at = 0) {
    cancel(timer);
    s = { ...s, ...change };
    next = at;
    if (at) timer = wait(at - now(), run);
    save();
    remember();
    const known = status();
    if (resolve && s.state !== "sending") {
      resolve(known);
      promise = resolve = null;
    }
    for (const call of calls) Promise.resolve().then(() => calls.includes(call) && call(known));
  }

  function outcome() {
    if (s.state !== "sending") return Promise.resolve(status());
    return promise = promise || new Promise((done) => { resolve = done; });
  }

  // ---- What the visitor does

  /** The fields without those that are put in here. */
  const theirs = (fields) => fields.filter(([name]) => name !== "submission_id" && !(lang && name === "_lang"));

  function submit(fields) {
    const pairs = theirs(fields);
    const print = fingerprint(pairs);
    const same = print === s.print;
    if (closed || same && settled()) return outcome(); // a double click that came late
    if (active() && (same || s.state !== "uncertain")) return resume();
    // What is uncertain stays so: other words under its ID can only get a conflict,
    // which is where the visitor says that they are a new message.
    const anew = !s.id || settled() || !same && s.state === "not_sent" && status().safeNewID;
    const id = anew ? fresh(fields) : s.id;
    const body = serialize([["submission_id", id], ...pairs, ...lang ? [["_lang", lang]] : []]);
    land();
    move({ ...BLANK, state: "sending", id, reference: referenceOf(id), print, body, used: true });
    run();
    return outcome();
  }

  /** A new ID; or, once, the one that the server put into the page: the form may
   *  have been posted under it before the script was there. */
  function fresh(fields) {
    const [, minted] = fields.find(([name]) => name === "submission_id") || [];
    return !s.used && /^[\da-f-]{36}$/i.test(minted) ? minted.toLowerCase() : uuid7(now(), bytes(16));
  }

  function renew() {
    if (status().safeNewID || settled() || s.state === "conflict") move({ ...BLANK, draft: kept() });
  }

  function resume() {
    look();
    return outcome();
  }

  /** Brings the next try forward to right now, if nothing forbids it. */
  function look() {
    if (closed || flight || !active()) return;
    const at = Math.max(now(), until, began + APART);
    if (!next || at < next) move({}, at);
  }

  // ---- One try, and what comes of it

  async function run() {
    const mine = flight = new AbortController();
    const get = following();
    began = now();
    move(get ? {} : { attempts: s.attempts + 1, quiet: s.attempts >= TRIES });
    const late = new Promise((done) => { timer = wait(LIMIT, done); });
    const reply = await Promise.race([ask(get), late]);
    if (flight !== mine) return; // closed, or the visitor went another way
    land();
    take(get, reply || {});
  }

  /** Ends the request under way; what it still brings is not heard. */
  function land() {
    cancel(timer);
    flight?.abort();
    flight = null;
  }

  /** Makes one request, and needs no preflight for it. Whatever fails is no answer,
   *  redirects too, which a network's log-in page would answer with. */
  async function ask(get) {
    const reply = {};
    try {
      const form = get ? {} : { "Content-Type": "application/x-www-form-urlencoded" };
      const got = await fetch(get ? receipt() : action, {
        method: get ? "GET" : "POST", headers: { Accept: "application/json", ...form }, body: get ? null : s.body,
        credentials: "omit", redirect: "error", signal: flight.signal,
      });
      reply.status = got.status;
      reply.after = got.headers.get("Retry-After");
      reply.answer = await got.json();
    } catch (fault) { /* no answer */ }
    return reply;
  }

  /** Where to look for what became of it. */
  function receipt() {
    return new URL(s.answer?.receipt || "../receipts/" + s.id, action) + (lang ? "?lang=" + lang : "");
  }

  /** What an answer says of our enquiry: an outcome, "refused", or nothing at all. */
  function verdict(get, status, answer) {
    if (!answer || (answer.id || answer.outcome) && answer.id !== s.id) return;
    if (answer.outcome) return OUTCOMES.slice(0, get ? 5 : 9).includes(answer.outcome) && answer.outcome;
    if (!get && /^4/.test(status) && /^urn:formledger:problem:/.test(answer.type)) return "refused";
  }

  function take(get, { status, after, answer }) {
    let state = verdict(get, status, answer);
    if (s.state === "uncertain" && (!state || state === "processing")) {
      state = s.state; // neither silence nor somebody's new try tells what became of it
    } else if (state) {
      s.answer = answer;
    }
    state = state === "processing" ? "sending" : state || "unreached";
    looks = get && state === s.state ? looks + 1 : 0;
    until = now() + patience(after);
    s.state = state;
    move({
      quiet: state === "unreached" && s.attempts >= TRIES,
      ...settled() && { body: "", draft: null }, // the words have done their work
    }, active() ? Math.max(until, now() + pause()) : 0);
  }

  // ---- When to try again

  /** How long to wait: at random, so that many visitors do not come back at once. */
  function pause() {
    const [first, most, n, least] = s.state === "sending" ? [2, 15, looks, 2]
      : s.state === "uncertain" ? [15, 300, looks, 2]
      : s.attempts < TRIES ? [2, 30, s.attempts - 1, 0] : [60, 300, s.attempts - TRIES, 0];
    return SECOND * (least + random() * (Math.min(most, first * 2 ** n) - least));
  }

  /** Reads Retry-After, which is in seconds or a date. */
  function patience(after) {
    return Math.min(PATIENCE, (/^\d+$/.test(after) ? after * SECOND : Date.parse(after) - now()) || 0);
  }

  // ---- What is kept, and where

  /** In this tab alone. Without words, the old record goes first: so they go even
   *  where there is no room to write. */
  function save() {
    if (!s.body && !s.draft) quietly(() => session.removeItem(key));
    quietly(() => session.setItem(key, JSON.stringify(s)));
  }

  /** For all tabs: what is open, and never a word of it. */
  function remember() {
    if (!s.id) return;
    const { [s.id]: _, ...open } = read(local, key);
    if (!settled()) open[s.id] = { state: s.state, reference: s.reference, at: now() };
    quietly(() => local.setItem(key, JSON.stringify(Object.fromEntries(Object.entries(open).slice(-20)))));
  }

  function keep(fields) {
    if (fields && settled() && fingerprint(theirs(fields)) === s.print) return; // they have arrived
    s.draft = fields;
    save();
  }

  function kept() {
    if (s.draft || !s.body) return s.draft;
    return theirs([...new URLSearchParams(s.body)]);
  }

  online(look);
  return {
    submit, resume, status, renew, keep, kept, look,
    on(call) {
      calls = [...calls, call];
      return () => { calls = calls.filter((other) => other !== call); };
    },
    close() {
      closed = true;
      calls = [];
      next = 0;
      land();
    },
  };
}

// ---- The world as a browser has it

function browser() {
  return {
    fetch,
    now: Date.now,
    random: Math.random,
    bytes: (n) => crypto.getRandomValues(new Uint8Array(n)),
    wait: (ms, call) => setTimeout(call, ms),
    cancel: clearTimeout,
    session: quietly(() => sessionStorage),
    local: quietly(() => localStorage),
    online: (call) => quietly(() => addEventListener("online", call)),
  };
}

/** Stores may be absent, full or forbidden; then it works from memory. */
function quietly(call) {
  try {
    return call();
  } catch (fault) { /* goes on without */ }
}

function read(store, key) {
  return { ...quietly(() => JSON.parse(store.getItem(key))) };
}

// ---- IDs and fingerprints

const serialize = (pairs) => new URLSearchParams(pairs).toString();
const encode = (text) => new TextEncoder().encode(text);
const hex = (bytes) => [...bytes].map((byte) => (256 + byte).toString(16).slice(1)).join("");

/** Two presses with the same fingerprint mean the same enquiry. As on the server,
 *  the form's own fields (_lang, a challenge's token) are no part of it. */
function fingerprint(fields) {
  return hex(sha256(encode(serialize(fields.filter(([name]) => name[0] !== "_")))));
}

/** RFC 9562, section 5.7: 48 bits of time, then chance. */
export function uuid7(now, bytes) {
  const b = bytes.slice(0, 16);
  for (let i = 0; i < 6; i++) b[i] = now / 2 ** (40 - 8 * i) & 255;
  b[6] = b[6] & 15 | 112;
  b[8] = b[8] & 63 | 128;
  return [0, 8, 12, 16, 20].map((at, i, cuts) => hex(b).slice(at, cuts[i + 1])).join("-");
}

/** 55 bits of a hash as 11 symbols, and Luhn's check symbol modulo 32. */
export function referenceOf(id) {
  const raw = id.match(/[^-]{2}/g).map((two) => parseInt(two, 16));
  const hash = sha256([...encode("formledger reference v1"), ...raw]);
  let text = "", sum = 0;
  for (let i = 0; i < 12; i++) {
    const bit = 5 * i, at = bit >> 3;
    const value = i < 11 ? (hash[at] << 8 | hash[at + 1]) >> 11 - bit % 8 & 31 : -sum & 31;
    const weighed = value * (2 - i % 2);
    sum += (weighed >> 5) + (weighed & 31);
    text += (i && i % 4 === 0 ? "-" : "") + "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[value];
  }
  return text;
}

/** FIPS 180-4, of at most 512 MiB. In plain JavaScript, because crypto.subtle needs a
 *  secure context. */
export function sha256(bytes) {
  let H = START;
  const data = new DataView(new ArrayBuffer((bytes.length + 72) >> 6 << 6));
  new Uint8Array(data.buffer).set([...bytes, 128]);
  data.setUint32(data.byteLength - 4, bytes.length << 3);
  for (let block = 0; block < data.byteLength; block += 64) {
    const w = [];
    let v = H;
    for (let i = 0; i < 64; i++) {
      const [a, b, c, d, e, f, g, h] = v, x = w[i - 15], y = w[i - 2];
      w[i] = i < 16 ? data.getInt32(block + 4 * i)
        : w[i - 16] + w[i - 7] + (turn(x, 7) ^ turn(x, 18) ^ x >>> 3) + (turn(y, 17) ^ turn(y, 19) ^ y >>> 10) | 0;
      const t = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (e & f ^ ~e & g) + ROOTS[i] + w[i];
      const u = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + (a & b ^ a & c ^ b & c);
      v = [t + u | 0, a, b, c, d + t | 0, e, f, g];
    }
    H = H.map((word, i) => word + v[i] | 0);
  }
  H.forEach((word, i) => data.setInt32(4 * i, word));
  return new Uint8Array(data.buffer, 0, 32);
}

const turn = (x, n) => x >>> n | x << 32 - n;

// The constants: 32 bits behind the point of the roots of the first 64 primes. The
// tests show that no engine's rounding could make a difference.
const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((p) => n % p)) PRIMES.push(n);
const roots = (power) => PRIMES.map((p) => p ** power * 2 ** 32 | 0);
const ROOTS = roots(1 / 3), START = roots(1 / 2).slice(0, 8);
