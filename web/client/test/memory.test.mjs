// Reloads, tabs, stores and listeners.

import { test } from "node:test";
import assert from "node:assert/strict";
import { KEY, answered, listed, record, stage } from "./kit.mjs";
import { OTHER, Store, WORDS, chance } from "./world.mjs";

// ---- resume, tabs, stores

test("resume in a new tab is a draft and asks nothing", async () => {
  const s = stage();
  assert.equal((await s.client.resume()).state, "draft");
  assert.equal(s.requests.length, 0);
});

test("resume mid-send posts the saved body under the same ID", async () => {
  const s = stage();
  await s.press();
  const { body } = s.request.init, { id } = s.status;
  await s.reload();
  assert.equal(s.status.state, "sending");
  assert.equal(s.posts.length, 2);
  assert.equal(s.request.init.body, body);
  assert.equal(s.status.id, id);
  assert.equal(s.status.attempts, 2);
  assert.deepEqual(s.client.kept(), WORDS);
  await s.answer("accepted");
  assert.equal((await s.resumed).state, "accepted");
});

test("resume when unreached goes on; reloads do not give more than six attempts that are not quiet", async () => {
  const s = stage();
  await s.press();
  for (let i = 0; i < 8; i++) {
    await s.fail();
    await s.reload();
    assert.equal(s.status.state, "unreached");
    assert.equal(s.posts.length, i + 2);
    assert.equal(s.status.quiet, i + 2 > 6);
  }
});

test("resume in processing and in uncertain asks the receipt", async () => {
  for (const outcome of ["processing", "uncertain"]) {
    const s = await answered(outcome, { receipt: "https://public.example/receipts/2" });
    await s.reload();
    assert.equal(s.posts.length, 1);
    assert.equal(s.request.url, "https://public.example/receipts/2");
    assert.equal(s.status.state, outcome === "processing" ? "sending" : "uncertain");
    await s.answer("accepted");
    assert.equal(s.status.state, "accepted");
  }
});

for (const outcome of ["accepted", "queued", "conflict", "invalid", "not_sent", "challenge"]) {
  test(`resume when ${outcome} shows it and asks nothing`, async () => {
    const s = await answered(outcome, { title: "as it was" }), { id } = s.status;
    await s.reload();
    assert.equal((await s.resumed).state, outcome);
    assert.equal(s.status.answer.title, "as it was");
    assert.equal(s.status.id, id);
    await s.advance(600_000);
    assert.equal(s.requests.length, 1);
  });
}

test("after a reload, Send without resume() goes on with what was under way", async () => {
  const s = stage();
  await s.press();
  const { body } = s.request.init;
  s.client.close();
  s.client = s.open();
  await s.press(OTHER);
  assert.equal(s.request.init.body, body);
});

test("a duplicated tab uses the same ID and body", async () => {
  const s = stage();
  await s.press();
  const twin = stage({ session: s.session.copy(), local: s.local });
  twin.client.resume();
  await twin.advance(0);
  assert.equal(twin.request.init.body, s.request.init.body);
});

const stores = {
  absent: () => null,
  broken: () => Object.assign(new Store(), { mode: "broken" }),
  full: () => Object.assign(new Store(), { mode: "full" }),
  garbled: () => new Store([[KEY, "{not json"]]),
};
for (const [name, make] of Object.entries(stores)) {
  test(`stores that are ${name}: everything works from memory`, async () => {
    const s = stage({ session: make(), local: make(), random: () => 0.5 });
    s.client.keep(WORDS);
    assert.deepEqual(s.client.kept(), WORDS);
    await s.press();
    await s.fail();
    await s.next();
    assert.equal(s.request.init.body, s.posts[0].init.body);
    await s.answer("accepted");
    assert.equal(s.status.state, "accepted");
    assert.equal(s.client.kept(), null);
  });
}

test("the draft is kept in this tab, and null forgets it", async () => {
  const s = stage();
  assert.equal(s.client.kept(), null);
  s.client.keep(WORDS);
  await s.reload();
  assert.deepEqual(s.client.kept(), WORDS);
  assert.equal(s.local.text(), "");
  s.client.keep(null);
  assert.equal(s.client.kept(), null);
  assert.ok(!s.session.text().includes("Ada"));
});

test("kept() gives the words of what is under way, or the draft that came after them", async () => {
  const s = stage({ options: { lang: "de" } });
  await s.press();
  assert.deepEqual(s.client.kept(), WORDS);
  s.client.keep(OTHER);
  assert.deepEqual(s.client.kept(), OTHER);
});

test("the local store lists what is open, without words, until it is settled", async () => {
  const s = stage();
  await s.press();
  const { id, reference } = s.status;
  assert.deepEqual(listed(s), { [id]: { state: "sending", reference, at: s.clock.time } });
  await s.answer("uncertain");
  assert.equal(listed(s)[id].state, "uncertain");
  assert.ok(!/Ada|Gr/.test(s.local.text()));
  await s.next();
  await s.answer("accepted");
  assert.deepEqual(listed(s), {});
});

test("the local store holds the last twenty", async () => {
  const s = stage();
  for (let i = 0; i < 25; i++) {
    await s.press([["message", "number " + i]]);
    await s.answer("not_sent", { safe_new_id: true });
  }
  assert.equal(Object.keys(listed(s)).length, 20);
  assert.ok(listed(s)[s.status.id]);
});

test("two forms of one page do not mix", async () => {
  const s = stage();
  const other = stage({ session: s.session, local: s.local, luck: chance(2), options: { action: "https://forms.example.com/f/booking" } });
  await s.press();
  await other.press(OTHER);
  assert.notEqual(s.status.id, other.status.id);
  await s.reload();
  assert.ok(s.request.init.body.includes("Ada"));
  assert.ok(s.request.init.body.includes("Gr"));
});

// ---- Listeners, and the end

test("listeners hear every change and can be taken off", async () => {
  const s = stage(), heard = [];
  const off = s.client.on((status) => heard.push([status.state, status.next > 0]));
  await s.press();
  await s.fail();
  assert.deepEqual(heard.at(-1), ["unreached", true]);
  off();
  const count = heard.length;
  await s.next();
  await s.answer("accepted");
  assert.equal(heard.length, count);
});

test("a status is never changed in place", async () => {
  const s = stage();
  await s.press();
  const before = s.status;
  await s.answer("accepted");
  assert.equal(before.state, "sending");
  assert.equal(before.answer, null);
});

test("a listener may act at once", async () => {
  const s = stage();
  s.client.on((status) => {
    s.client.look();
    if (status.state === "conflict") s.client.renew();
  });
  await s.press();
  await s.answer("conflict");
  assert.equal(s.status.state, "draft");
});

test("close() ends timers, callbacks and submit", async () => {
  const s = stage();
  await s.press();
  await s.fail();
  const count = s.seen.length;
  s.client.close();
  assert.equal(s.clock.timers.size, 0);
  s.client.look();
  s.awake.forEach((call) => call());
  s.client.submit(WORDS);
  await s.advance(600_000);
  assert.equal(s.requests.length, 1);
  assert.equal(s.seen.length, count);
});

test("close() during a request: its answer is not heard, and stays open for the next page", async () => {
  const s = stage();
  await s.press();
  const request = s.request;
  s.client.close();
  request.respond(200, JSON.stringify({ outcome: "accepted", id: s.status.id }));
  await s.advance(60_000);
  assert.equal(record(s).state, "sending");
  assert.equal(s.clock.timers.size, 0);
});
