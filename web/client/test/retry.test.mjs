// Trying again: when, how often, and what else the visitor presses meanwhile.

import { test } from "node:test";
import assert from "node:assert/strict";
import { stage } from "./kit.mjs";
import { OTHER, WORDS } from "./world.mjs";

// ---- Attempts

/** The waits before the tries that follow, while every one fails. */
async function waits(s, n) {
  const out = [];
  for (let i = 0; i < n; i++) {
    await s.fail();
    out.push((s.status.next - s.clock.time) / 1000);
    await s.next();
  }
  return out;
}

test("waits: full jitter under 2, 4, 8, 16, 30 s, then quietly under 60, 120, 240, 300, 300 s", async () => {
  for (const part of [1, 0.5, 0.25]) {
    const s = stage({ random: () => part });
    await s.press();
    assert.deepEqual(await waits(s, 10), [2, 4, 8, 16, 30, 60, 120, 240, 300, 300].map((top) => part * top));
  }
});

test("six attempts, then quiet ones without end", async () => {
  const s = stage({ random: () => 0.9 });
  await s.press();
  for (let tries = 1; tries < 40; tries++) {
    assert.equal(s.posts.length, tries);
    assert.equal(s.status.attempts, tries);
    assert.equal(s.status.quiet, tries > 6);
    await s.fail();
    assert.equal(s.status.quiet, tries >= 6);
    await s.next();
  }
  await s.answer("accepted");
  assert.equal(s.status.quiet, false);
});

test("Retry-After in seconds is a lower bound", async () => {
  const s = stage();
  await s.press();
  await s.problem("unavailable", 503, { "Retry-After": "40" });
  assert.equal(s.status.next, s.clock.time + 40_000);
});

test("Retry-After as a date is a lower bound", async () => {
  const s = stage();
  await s.press();
  const date = new Date(Math.ceil(s.clock.time / 1000) * 1000 + 50_000);
  await s.problem("unavailable", 503, { "Retry-After": date.toUTCString() });
  assert.equal(s.status.next, date.getTime());
});

test("Retry-After is believed up to ten minutes, and only if it makes sense", async () => {
  for (const [told, most] of [["86400", 600_000], ["soon", 2000], ["-5", 2000], ["Mon, 01 Jan 2001 00:00:00 GMT", 2000]]) {
    const s = stage({ random: () => 1 });
    await s.press();
    await s.problem("unavailable", 503, { "Retry-After": told });
    assert.equal(s.status.next, s.clock.time + most, told);
  }
});

test("Retry-After of a proxy's page is obeyed too", async () => {
  const s = stage();
  await s.press();
  await s.html(503, { "Retry-After": "20" });
  assert.equal(s.status.next, s.clock.time + 20_000);
});

for (const name of ["look()", "an online event"]) {
  const happen = (s) => name === "look()" ? s.client.look() : s.awake.forEach((call) => call());

  test(`${name} tries at once, but not within 2 s of the last try`, async () => {
    const s = stage({ random: () => 1 });
    await s.press();
    await s.fail();
    await s.next(); // the second try, whose failure would give 4 s
    const began = s.clock.time;
    await s.fail();
    happen(s);
    assert.equal(s.status.next, began + 2000);
    await s.next();
    assert.equal(s.posts.length, 3);
    await s.advance(3000);
    await s.fail(); // now 8 s
    happen(s);
    await s.advance(0);
    assert.equal(s.posts.length, 4);
  });

  test(`${name} does not override Retry-After`, async () => {
    const s = stage();
    await s.press();
    await s.problem("unavailable", 503, { "Retry-After": "40" });
    happen(s);
    await s.advance(39_999);
    assert.equal(s.posts.length, 1);
    await s.advance(1);
    assert.equal(s.posts.length, 2);
  });

  test(`${name} during a request changes nothing`, async () => {
    const s = stage();
    await s.press();
    happen(s);
    await s.advance(5000);
    assert.equal(s.requests.length, 1);
  });

  test(`${name} never brings a try later`, async () => {
    const s = stage({ random: () => 0.1 });
    await s.press();
    await s.fail();
    const { next } = s.status;
    happen(s);
    assert.equal(s.status.next, next);
  });
}

test("look() in a draft does nothing", async () => {
  const s = stage();
  s.client.look();
  await s.advance(60_000);
  assert.equal(s.requests.length, 0);
  assert.equal(s.status.state, "draft");
});

// ---- Pressing again

test("a double click while sending is the same promise and no second request", async () => {
  const s = stage();
  const first = s.client.submit(WORDS), second = s.client.submit(WORDS);
  assert.equal(first, second);
  await s.advance(0);
  assert.equal(s.requests.length, 1);
  await s.answer("accepted");
  assert.equal((await second).state, "accepted");
});

test("other fields while sending go on with the saved body", async () => {
  const s = stage();
  const { promise } = await s.press();
  const { body } = s.request.init;
  assert.equal(s.client.submit(OTHER), promise);
  await s.fail();
  await s.next();
  assert.equal(s.request.init.body, body);
});

test("a retry is the saved body, whatever the draft says meanwhile", async () => {
  const s = stage();
  await s.press();
  const { body } = s.request.init;
  s.client.keep(OTHER);
  await s.fail();
  await s.next();
  assert.equal(s.request.init.body, body);
});

test("Send while unreached tries at once with the saved body, whatever the fields", async () => {
  const s = stage({ random: () => 1 });
  await s.press();
  const { body } = s.request.init;
  await s.advance(15_000);
  assert.equal((await s.client.submit(OTHER)).state, "unreached");
  await s.advance(0);
  assert.equal(s.posts.length, 2);
  assert.equal(s.request.init.body, body);
});
