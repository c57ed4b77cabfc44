// The laws of the client, checked from outside: on every request, and after every step.

const FINAL = /^(accepted|queued|uncertain|conflict|not_sent|invalid|challenge|refused)$/;
const SAID = /^(accepted|queued|uncertain|conflict|not_sent|invalid|limited|challenge)$/;

export class Broken extends Error {}

function demand(holds, law) {
  if (!holds) throw new Broken(law);
}

/** What a tab has done so far, as it survives reloads: the yardstick for its client. */
export class Conduct {
  id = "";
  fields = null; // of the enquiry under way
  body = null; // what every POST must be, until the visitor presses Send again
  posts = 0; // since then
  told = new Set(); // what answers really said since then
  held = ""; // the state after which a POST needs the visitor
  forgetful = false; // a store has failed: what a reload finds may be old

  get words() { return (this.fields || []).map(([, word]) => word); }

  same(fields) { return JSON.stringify(this.fields) === JSON.stringify(fields); }

  /** The visitor has pressed Send, and it counts. */
  pressed(fields) {
    Object.assign(this, { fields, body: null, posts: 0, told: new Set(), held: "" });
  }

  copy() { return Object.assign(new Conduct(), this, { told: new Set(this.told) }); }
}

export const fieldsOf = (body) => [...new URLSearchParams(body)].slice(1).filter(([name]) => name[0] !== "_");

/** On every request, before it leaves. */
export function onRequest(tab, method, body) {
  const { conduct, client, session, key } = tab, status = client.status();
  demand(!tab.flights.size, "two requests of one client at the same time");
  if (method !== "POST") return;
  demand(!conduct.held, `a POST after ${conduct.held} without the visitor`);
  demand(/^(sending|unreached|limited)$/.test(status.state), "a POST in state " + status.state);
  demand(body.startsWith("submission_id=" + status.id + "&"), "a POST under another ID than the status says");
  demand(conduct.body === null || conduct.body === body, "two bodies under one ID");
  demand(conduct.same(fieldsOf(body)), "a body that is not what the visitor sent");
  conduct.body = body;
  conduct.posts++;
  demand(conduct.posts <= 6 || status.quiet || conduct.forgetful, "more than six attempts in the first phase");
  if (session.mode === "ok") {
    const saved = JSON.parse(session.map.get(key) || "{}");
    demand(saved.id === status.id && saved.body === body, "a byte before ID and body were saved");
  }
}

/** After every step. */
export function check(tab) {
  const { conduct, client, session, local } = tab, { state, id, next, attempts, safeNewID } = client.status();
  demand(id === conduct.id, "the ID changed without the visitor");
  if (SAID.test(state)) demand(conduct.told.has(state + id), state + " without an answer that said so");
  if (state === "refused") demand(conduct.told.has("refused"), "refused without a refusal");
  const goesOn = /^(sending|unreached|uncertain)$/.test(state) || state === "limited" && (attempts < 6 || tab.flights.size > 0);
  demand(!goesOn || tab.flights.size || next || !tab.begun, "it went to sleep while " + state);
  demand(goesOn || !next && !tab.flights.size, "it goes on while " + state);
  demand(!goesOn || !safeNewID, "a fresh ID offered while a byte may have left");
  demand(!local.text().includes("word"), "words in the local store");
  if (FINAL.test(state)) conduct.held = state;
  if (state === "accepted" || state === "queued") {
    const left = session.text();
    demand(session.broken || !conduct.words.some((word) => left.includes(word)), "words left after " + state);
    demand(!(client.kept() || []).flat().some((word) => conduct.words.includes(word)), "words kept after " + state);
  }
}

/** Whether a press of Send begins or repeats an enquiry, instead of going on with one. */
export function counts(tab, same) {
  const { state, attempts } = tab.client.status();
  if (state === "sending" || state === "unreached" || state === "limited" && (attempts < 6 || tab.flights.size)) return false;
  return !(same && /^(accepted|queued|uncertain)$/.test(state));
}

/** After a press that counts: the ID is a fresh one exactly where it may be. */
export function checkPress(tab, before, same) {
  const { id } = tab.client.status();
  const fresh = !before.id || /^(accepted|queued)$/.test(before.state)
    || before.state === "not_sent" && before.answer.safe_new_id && !same;
  demand(fresh === (id !== before.id), fresh ? "the old ID for a new enquiry" : "a second ID while a byte may have left");
  demand(tab.conduct.posts === 1, "a press of Send that sends nothing");
  tab.conduct.id = id;
}

/** When everything is over: at most one mail per ID, and per press of Send. */
export function checkMails(server, presses) {
  const mails = new Map();
  for (const { content, mails: n } of server.rows.values()) {
    demand(n <= 1, "two mails under one ID");
    mails.set(content, (mails.get(content) || 0) + n);
  }
  for (const [content, n] of mails) demand(n <= (presses.get(content) || 0), "more mails than presses of Send");
}

/** When the network was good for long: what was pressed has arrived. */
export function checkArrived(tab, server) {
  const { state, id } = tab.client.status();
  if (state === "draft") return;
  demand(/^(accepted|queued)$/.test(state), "still " + state + " after all");
  demand(server.rows.get(id).mails === 1, "accepted, but no mail");
}
