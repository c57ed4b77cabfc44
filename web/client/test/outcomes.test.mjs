// The outcomes after which something is still to be done, by the script or by the visitor.

import { test } from "node:test";
import assert from "node:assert/strict";
import { answered, stage } from "./kit.mjs";
import { OTHER, WORDS } from "./world.mjs";

// ---- processing

const processing = (changes, more = { receipt: "https://public.example/receipts/1" }, headers = {}) =>
  answered("processing", more, headers, changes);

test("processing: the state stays sending and the receipt is asked", async () => {
  const s = await processing({ options: { lang: "de" } });
  assert.equal(s.status.state, "sending");
  assert.equal(s.status.answer.outcome, "processing");
  await s.next();
  assert.equal(s.request.url, "https://public.example/receipts/1?lang=de");
  assert.equal(s.request.init.method, "GET");
  assert.equal(s.request.init.body, null);
  assert.deepEqual(s.request.init.headers, { Accept: "application/json" });
  assert.equal(s.status.attempts, 1);
});

test("processing without a receipt: it stands beside the action", async () => {
  const s = await processing({}, {});
  await s.next();
  assert.equal(s.request.url, "https://forms.example.com/receipts/" + s.status.id);
});

test("processing: between 2 and 15 s, growing; Retry-After first", async () => {
  for (const [part, want] of [[1, [2, 4, 8, 15, 15]], [0, [2, 2, 2, 2, 2]]]) {
    const s = stage({ random: () => part });
    await s.press();
    const out = [];
    for (let i = 0; i < 5; i++) {
      await s.answer("processing");
      out.push((s.status.next - s.clock.time) / 1000);
      await s.next();
    }
    assert.deepEqual(out, want);
    await s.answer("processing", {}, { "Retry-After": "30" });
    assert.equal(s.status.next, s.clock.time + 30_000);
    assert.equal(s.posts.length, 1);
  }
});

for (const outcome of ["accepted", "queued", "uncertain", "not_sent"]) {
  test(`processing → ${outcome}, by the receipt`, async () => {
    const s = await processing();
    await s.next();
    await s.answer(outcome);
    assert.equal((await s.promise).state, outcome);
  });
}

test("processing → unseen: the saved body is posted again", async () => {
  const s = await processing();
  const { body } = s.posts[0].init;
  await s.next();
  await s.answer("unseen", {}, {}, 404);
  await s.next();
  assert.equal(s.request.init.method, "POST");
  assert.equal(s.request.init.body, body);
  assert.equal(s.status.attempts, 2);
});

test("processing, and the receipt cannot be read → unreached, and the saved body is posted again", async () => {
  const s = await processing();
  await s.next();
  await s.problem("not_found", 404);
  assert.equal(s.status.state, "unreached");
  await s.next();
  assert.equal(s.request.init.body, s.posts[0].init.body);
  await s.answer("processing");
  assert.equal(s.status.state, "sending");
});

test("a receipt cannot say what only a POST is told", async () => {
  for (const outcome of ["conflict", "invalid", "challenge", "limited"]) {
    const s = await processing();
    await s.next();
    await s.answer(outcome);
    assert.equal(s.status.state, "unreached", outcome);
  }
});

// ---- uncertain

test("uncertain: the receipt is asked between 2 s and 15 s, then up to 5 min; never a POST", async () => {
  const s = await answered("uncertain", {}, {}, { random: () => 1 });
  const out = [];
  for (let i = 0; i < 8; i++) {
    out.push((s.status.next - s.clock.time) / 1000);
    await s.next();
    assert.equal(s.request.init.method, "GET");
    await (i % 2 ? s.fail() : s.answer("uncertain"));
    assert.equal(s.status.state, "uncertain");
  }
  assert.deepEqual(out, [15, 30, 60, 120, 240, 300, 300, 300]);
  assert.equal(s.posts.length, 1);
});

for (const outcome of ["accepted", "not_sent", "queued"]) {
  test(`uncertain → ${outcome}, when the operator has decided`, async () => {
    const s = await answered("uncertain");
    await s.next();
    await s.answer(outcome, { title: "decided" });
    assert.equal(s.status.state, outcome);
    assert.equal(s.status.answer.title, "decided");
    assert.equal(s.status.next, 0);
  });
}

for (const outcome of ["unseen", "processing", "conflict", "invalid"]) {
  test(`uncertain stays when the receipt says ${outcome}`, async () => {
    const s = await answered("uncertain", { title: "first" });
    await s.next();
    await s.answer(outcome, { title: "second" });
    assert.equal(s.status.state, "uncertain");
    assert.equal(s.status.answer.title, "first");
    assert.ok(s.status.next > s.clock.time);
  });
}

test("uncertain: look() asks the receipt at once", async () => {
  const s = await answered("uncertain");
  await s.advance(2000);
  const before = s.requests.length;
  if (s.status.next) s.client.look();
  await s.advance(0);
  assert.equal(s.requests.length, before + 1);
  assert.equal(s.request.init.method, "GET");
});

test("uncertain: Send with the same fields only looks", async () => {
  const s = await answered("uncertain", {}, {}, { random: () => 1 });
  await s.advance(5000);
  assert.equal((await s.client.submit(WORDS)).state, "uncertain");
  await s.advance(0);
  assert.equal(s.posts.length, 1);
  assert.equal(s.requests.length, 2);
});

test("uncertain: Send with other fields goes under the same ID, and the server answers conflict", async () => {
  const s = await answered("uncertain"), { id } = s.status;
  await s.next(); // a look is under way; its answer is not heard any more
  const looked = s.request;
  await s.press(OTHER);
  assert.ok(looked.init.signal.aborted);
  assert.equal(s.posts.length, 2);
  assert.equal(s.status.id, id);
  await s.answer("conflict", { safe_new_id: true });
  assert.equal(s.status.state, "conflict");
});

test("uncertain: renew() does nothing", async () => {
  const s = await answered("uncertain", { safe_new_id: true }), { id } = s.status;
  s.client.renew();
  assert.equal(s.status.id, id);
  assert.equal(s.status.state, "uncertain");
  assert.equal(s.status.safeNewID, false);
});

// ---- not_sent, invalid, conflict, limited, challenge

test("not_sent is final for the script and keeps the words", async () => {
  const s = await answered("not_sent", { safe_new_id: true }, { "Retry-After": "10" });
  s.client.look();
  await s.advance(3_600_000);
  assert.equal(s.requests.length, 1);
  assert.deepEqual(s.client.kept(), WORDS);
});

test("not_sent → Send with the same content: the same ID, the same body, six attempts anew", async () => {
  const s = await answered("not_sent", { safe_new_id: true }), { id } = s.status;
  await s.press();
  assert.equal(s.status.id, id);
  assert.equal(s.request.init.body, s.posts[0].init.body);
  assert.equal(s.status.attempts, 1);
  assert.equal(s.status.safeNewID, false);
});

test("not_sent with safe_new_id → Send with changed content: a fresh ID", async () => {
  const s = await answered("not_sent", { safe_new_id: true }), { id } = s.status;
  assert.equal(s.status.safeNewID, true);
  await s.press(OTHER);
  assert.notEqual(s.status.id, id);
});

test("not_sent without safe_new_id → Send with changed content: the same ID", async () => {
  const s = await answered("not_sent", { safe_new_id: false }), { id } = s.status;
  await s.press(OTHER);
  assert.equal(s.status.id, id);
  assert.notEqual(s.request.init.body, s.posts[0].init.body);
});

test("not_sent → renew() only if safe_new_id", async () => {
  for (const safe of [true, false]) {
    const s = await answered("not_sent", { safe_new_id: safe });
    s.client.renew();
    assert.equal(s.status.state, safe ? "draft" : "not_sent");
  }
});

test("invalid: the corrected content goes under the same ID", async () => {
  const s = await answered("invalid", { errors: [{ field: "email", code: "required", message: "m" }] }), { id } = s.status;
  assert.equal(s.status.answer.errors[0].field, "email");
  await s.advance(600_000);
  assert.equal(s.requests.length, 1);
  await s.press(OTHER);
  assert.equal(s.status.id, id);
});

test("conflict: nothing more by itself; renew() and Send: a fresh ID, the words kept meanwhile", async () => {
  const s = await answered("conflict", { safe_new_id: true }), { id } = s.status;
  s.client.look();
  await s.advance(600_000);
  assert.equal(s.requests.length, 1);
  s.client.renew();
  assert.equal(s.status.state, "draft");
  assert.deepEqual(s.client.kept(), WORDS);
  await s.press();
  assert.notEqual(s.status.id, id);
  assert.equal(s.posts.length, 2);
});

test("conflict → Send without renew(): the same ID", async () => {
  const s = await answered("conflict", { safe_new_id: true }), { id } = s.status;
  await s.press(OTHER);
  assert.equal(s.status.id, id);
});

test("limited waits for Retry-After and tries again by itself, within the six attempts", async () => {
  const s = await answered("limited", {}, { "Retry-After": "30" });
  for (let tries = 1; tries < 6; tries++) {
    assert.equal(s.status.next, s.clock.time + 30_000);
    await s.next();
    assert.equal(s.posts.length, tries + 1);
    assert.equal(s.status.state, "limited");
    await s.answer("limited", {}, { "Retry-After": "30" }, 429);
  }
  assert.equal(s.status.next, 0);
  await s.advance(3_600_000);
  assert.equal(s.posts.length, 6);
});

test("limited → Send goes on with the saved body while it waits; afterwards it sends the new one, same ID", async () => {
  const s = await answered("limited", {}, { "Retry-After": "30" }), { id } = s.status;
  await s.press(OTHER);
  assert.equal(s.posts.length, 1);
  for (let tries = 1; tries < 6; tries++) {
    await s.next();
    await s.answer("limited");
  }
  await s.press(OTHER);
  assert.equal(s.status.id, id);
  assert.equal(s.status.attempts, 1);
  assert.ok(s.request.init.body.includes("another"));
});

test("limited: during the sixth try nothing new is begun", async () => {
  const s = await answered("limited", { safe_new_id: true }), { id } = s.status;
  for (let tries = 2; tries < 6; tries++) {
    await s.next();
    await s.answer("limited", { safe_new_id: true });
  }
  await s.next();
  assert.equal(s.status.safeNewID, false);
  s.client.renew();
  await s.press(OTHER);
  assert.equal(s.status.id, id);
  assert.equal(s.posts.length, 6);
});

test("limited → no answer → unreached", async () => {
  const s = await answered("limited");
  await s.next();
  await s.fail();
  assert.equal(s.status.state, "unreached");
});

test("challenge: nothing by itself; Send goes under the same ID, with the new token", async () => {
  const s = await answered("challenge"), { id } = s.status;
  await s.advance(600_000);
  assert.equal(s.requests.length, 1);
  await s.press([...WORDS, ["_token", "solved"]]);
  assert.equal(s.status.id, id);
  assert.ok(s.request.init.body.includes("solved"));
});

test("renew() while sending or unreached does nothing", async () => {
  const s = stage();
  await s.press();
  const { id } = s.status;
  s.client.renew();
  await s.fail();
  s.client.renew();
  assert.equal(s.status.id, id);
});
