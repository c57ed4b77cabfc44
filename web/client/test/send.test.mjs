// Pressing Send, and what the first answer makes of it.

import { test } from "node:test";
import assert from "node:assert/strict";
import { sha256 } from "../core.mjs";
import { answered, record, stage } from "./kit.mjs";
import { ACTION, OTHER, WORDS, response } from "./world.mjs";

// ---- The request

test("the first request is a simple POST that needs no preflight", async () => {
  const s = stage();
  await s.press();
  const { url, init } = s.request;
  assert.equal(url, ACTION);
  assert.equal(init.method, "POST");
  assert.equal(init.credentials, "omit");
  assert.equal(init.redirect, "error");
  assert.deepEqual(init.headers, { Accept: "application/json", "Content-Type": "application/x-www-form-urlencoded" });
});

test("the body is urlencoded: submission_id first, then the fields in order, then _lang", async () => {
  const s = stage({ options: { lang: "de" } });
  await s.press();
  const pairs = [...new URLSearchParams(s.request.init.body)];
  assert.deepEqual(pairs, [["submission_id", s.status.id], ...WORDS, ["_lang", "de"]]);
});

test("a _lang among the fields gives way to the option, and stays without one", async () => {
  const fields = [...OTHER, ["_lang", "fr"]];
  const with_ = stage({ options: { lang: "de" } }), without = stage();
  await with_.press(fields);
  await without.press(fields);
  assert.deepEqual(new URLSearchParams(with_.request.init.body).getAll("_lang"), ["de"]);
  assert.deepEqual(new URLSearchParams(without.request.init.body).getAll("_lang"), ["fr"]);
});

test("ID, fingerprint and body are in the session store before the first byte", async () => {
  const s = stage();
  await s.press();
  const saved = JSON.parse(s.request.stored);
  assert.equal(saved.id, s.status.id);
  assert.equal(saved.body, s.request.init.body);
  const words = new TextEncoder().encode(new URLSearchParams(WORDS).toString());
  assert.equal(saved.print, Buffer.from(sha256(words)).toString("hex"));
});

test("a draft has no ID; the ID is a UUIDv7 with its reference", async () => {
  const s = stage();
  assert.deepEqual(s.status, { state: "draft", id: "", reference: "", attempts: 0, next: 0, quiet: false, answer: null, safeNewID: false });
  await s.press();
  assert.match(s.status.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.match(s.status.reference, /^[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}$/);
});

test("an ID that the server put into the page is used, once", async () => {
  const minted = "0198C5A2-7b1e-7c3d-9a4f-5e6d7c8b9a01";
  const s = stage();
  await s.press([["submission_id", minted], ...WORDS]);
  assert.equal(s.status.id, minted.toLowerCase());
  assert.deepEqual(new URLSearchParams(s.request.init.body).getAll("submission_id"), [minted.toLowerCase()]);
  await s.answer("accepted");
  await s.press([["submission_id", minted], ...OTHER]);
  assert.notEqual(s.status.id, minted.toLowerCase());
});

test("a submission_id in the fields that is none is ignored", async () => {
  const s = stage();
  await s.press([["submission_id", "7"], ...WORDS]);
  assert.match(s.status.id, /^[0-9a-f-]{36}$/);
});

// ---- sending → …

test("sending → accepted", async () => {
  const s = stage();
  const { promise } = await s.press();
  assert.equal(s.status.state, "sending");
  assert.equal(s.status.attempts, 1);
  await s.answer("accepted", { contact: "Call us" }, {}, 201);
  assert.equal(s.status.state, "accepted");
  assert.equal(s.status.answer.contact, "Call us");
  assert.equal((await promise).state, "accepted");
  assert.deepEqual(s.seen, ["sending", "accepted"]);
});

for (const outcome of ["queued", "conflict", "invalid", "challenge", "not_sent", "uncertain", "limited"]) {
  test(`sending → ${outcome}`, async () => {
    const s = await answered(outcome);
    assert.equal(s.status.state, outcome);
    assert.equal((await s.promise).state, outcome);
  });
}

for (const outcome of ["accepted", "queued"]) {
  test(`${outcome}: draft and body leave the session store at once; ID, state and reference stay`, async () => {
    const s = stage();
    s.client.keep(OTHER);
    await s.press();
    s.client.keep(WORDS);
    await s.answer(outcome);
    assert.ok(!/Ada|Gr|another/.test(s.session.text()));
    const { id, state, reference } = record(s);
    assert.deepEqual({ id, state, reference }, { id: s.status.id, state: outcome, reference: s.status.reference });
    assert.equal(s.client.kept(), null);
  });

  test(`${outcome}: a late keep() of the words that have arrived is not written`, async () => {
    const s = await answered(outcome);
    s.client.keep(WORDS);
    assert.ok(!s.session.text().includes("Ada"));
    s.client.keep(OTHER);
    assert.deepEqual(s.client.kept(), OTHER);
  });

  test(`${outcome}: the words go even from a full store`, async () => {
    const s = stage();
    await s.press();
    s.session.mode = "full";
    await s.answer(outcome);
    assert.ok(!s.session.text().includes("Ada"));
  });

  test(`${outcome} is final: nothing more is asked, not even by look()`, async () => {
    const s = await answered(outcome);
    s.client.look();
    await s.advance(3_600_000);
    assert.equal(s.requests.length, 1);
    assert.equal(s.status.next, 0);
  });

  test(`${outcome}: the same fields again are a late double click`, async () => {
    const s = await answered(outcome);
    assert.equal((await s.client.submit(WORDS)).state, outcome);
    assert.equal(s.requests.length, 1);
  });

  test(`${outcome}: other fields are a new enquiry under a fresh ID`, async () => {
    const s = await answered(outcome), before = s.status.id;
    await s.press(OTHER);
    assert.notEqual(s.status.id, before);
    assert.equal(s.status.state, "sending");
    assert.equal(s.requests.length, 2);
  });

  test(`${outcome} → renew() → the same fields again are a new enquiry`, async () => {
    const s = await answered(outcome), before = s.status.id;
    s.client.renew();
    assert.equal(s.status.state, "draft");
    assert.equal(s.status.id, "");
    await s.press();
    assert.equal(s.status.state, "sending");
    assert.notEqual(s.status.id, before);
  });
}

test("fields of the form's own, like a token, do not make it another enquiry", async () => {
  const s = await answered("accepted");
  await s.client.submit([...WORDS, ["_token", "fresh"]]);
  assert.equal(s.requests.length, 1);
});

// ---- What is no answer

const noAnswers = {
  "HTML with 200": (s) => s.html(200),
  "a network error, like a forbidden redirect": (s) => s.fail(),
  "truncated JSON": async (s) => { s.request.respond(200, '{"outcome":"accepted","id":"'); await s.advance(0); },
  "JSON null": async (s) => { s.request.respond(200, "null"); await s.advance(0); },
  "a JSON list": async (s) => { s.request.respond(200, "[1]"); await s.advance(0); },
  "another ID": (s) => s.answer("accepted", { id: "01942444-4ca6-7000-8000-0000011e8534" }),
  "no ID": (s) => s.answer("accepted", { id: undefined }),
  "an unknown outcome": (s) => s.answer("splendid"),
  "an outcome in a list": (s) => s.answer(["accepted"]),
  "unseen to a POST": (s) => s.answer("unseen", {}, {}, 404),
  "not_sent for another ID": (s) => s.answer("not_sent", { id: "x" }, {}, 503),
  "a refusal that is not formledger's": async (s) => { s.request.respond(403, '{"type":"about:blank"}'); await s.advance(0); },
  "a refusal of another ID": async (s) => {
    s.request.respond(400, '{"type":"urn:formledger:problem:malformed","id":"x"}');
    await s.advance(0);
  },
  "500 without an outcome": (s) => s.problem("internal", 500),
  "502 of a proxy": (s) => s.html(502),
  "503 without an outcome": (s) => s.problem("unavailable", 503),
  "silence for 15 s": (s) => s.advance(15_000),
};
for (const [name, happen] of Object.entries(noAnswers)) {
  test(`no answer: ${name} → unreached, tried again under the same ID with the same body`, async () => {
    const s = stage({ random: () => 0.5 });
    const { promise } = await s.press();
    const { body } = s.request.init, { id } = s.status;
    await happen(s);
    assert.equal(s.status.state, "unreached");
    assert.equal((await promise).state, "unreached");
    assert.ok(s.status.next > s.clock.time);
    assert.equal(s.status.answer, null);
    await s.next();
    assert.equal(s.requests.length, 2);
    assert.equal(s.status.state, "unreached");
    assert.equal(s.status.next, 0);
    assert.equal(s.request.init.body, body);
    assert.equal(s.status.id, id);
    await s.answer("accepted");
    assert.equal(s.status.state, "accepted");
  });
}

test("the 15 s include the answer's body", async () => {
  const s = stage();
  await s.press();
  s.request.respond(200, "{}");
  const slow = stage();
  await slow.press();
  slow.request.init.signal.addEventListener("abort", () => { slow.aborted = true; });
  const reply = response(200, "");
  reply.json = () => new Promise(() => {});
  slow.fetch = () => Promise.resolve(reply);
  await slow.fail();
  await slow.next();
  await slow.advance(15_000);
  assert.equal(slow.status.state, "unreached");
  assert.ok(slow.status.next > slow.clock.time);
});

test("an answer that comes after the 15 s is not heard; the retry's is", async () => {
  const s = stage();
  await s.press();
  const first = s.request;
  await s.advance(15_000);
  assert.ok(first.init.signal.aborted);
  first.respond(200, JSON.stringify({ outcome: "uncertain", id: s.status.id }));
  await s.advance(0);
  assert.equal(s.status.state, "unreached");
});

test("a fetch that throws at once is no answer", async () => {
  const s = stage();
  s.fetch = () => { throw new TypeError("forbidden by a policy"); };
  await s.press();
  assert.equal(s.status.state, "unreached");
});

for (const [code, status] of [["malformed", 400], ["origin", 403], ["unknown_form", 404], ["method", 405], ["too_large", 413], ["media_type", 415]]) {
  test(`a problem ${status} ${code} without an outcome → refused, words kept, the same ID next`, async () => {
    const s = stage();
    const { promise } = await s.press();
    await s.problem(code, status);
    assert.equal((await promise).state, "refused");
    assert.equal(s.status.next, 0);
    assert.deepEqual(s.client.kept(), WORDS);
    const { id } = s.status;
    await s.press(OTHER);
    assert.equal(s.status.id, id);
    assert.equal(s.posts.length, 2);
  });
}
