// The arithmetic: SHA-256, UUIDv7, references.

import { test } from "node:test";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { sha256, uuid7, referenceOf } from "../core.mjs";
import { chance } from "./world.mjs";

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const bytes = (text) => new TextEncoder().encode(text);

test("SHA-256 gives the published digests", () => {
  const vectors = { // FIPS 180-4's examples
    "": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    abc: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq:
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  };
  for (const [text, want] of Object.entries(vectors)) assert.equal(hex(sha256(bytes(text))), want);
  assert.equal(hex(sha256(new Uint8Array(1_000_000).fill(97))),
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
});

test("SHA-256 agrees with node:crypto on every length to 300, and on random inputs", () => {
  const luck = chance(7);
  const lengths = [...Array(301).keys(), ...Array.from({ length: 100 }, () => luck.below(5000)), 65536];
  for (const n of lengths) {
    const input = luck.bytes(n);
    assert.equal(hex(sha256(input)), createHash("sha256").update(input).digest("hex"), "length " + n);
  }
});

test("SHA-256 leaves its input alone and gives 32 bytes", () => {
  const input = Uint8Array.of(1, 2, 3);
  assert.equal(sha256(input).length, 32);
  assert.deepEqual(input, Uint8Array.of(1, 2, 3));
});

test("no engine's rounding of roots can change a constant of SHA-256", () => {
  // The bits behind the 32 that are used must be far from a carry: 32 units in the
  // last place, where engines differ by one or two.
  for (let n = 2; n < 312; n++) {
    if ([...Array(n).keys()].some((d) => d > 1 && n % d === 0)) continue;
    for (const power of [1 / 2, 1 / 3]) {
      const scaled = n ** power * 2 ** 32, rest = scaled - Math.floor(scaled);
      const margin = 32 * scaled * Number.EPSILON;
      assert.ok(rest > margin && rest < 1 - margin, `${n} ** ${power}`);
    }
  }
});

test("a UUIDv7 has its form: version 7, variant 10, 48 bits of time", () => {
  const luck = chance(3);
  for (let i = 0; i < 2000; i++) {
    const now = i === 0 ? 0 : i === 1 ? 2 ** 48 - 1 : 1_600_000_000_000 + luck.below(2 ** 40);
    const id = uuid7(now, luck.bytes(16));
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(parseInt(id.replace("-", "").slice(0, 12), 16), now);
  }
});

test("a UUIDv7 keeps the 74 random bits, and its argument", () => {
  const given = new Uint8Array(16).fill(255), kept = given.slice();
  assert.equal(uuid7(0, given), "00000000-0000-7fff-bfff-ffffffffffff");
  assert.equal(uuid7(0, new Uint8Array(16)), "00000000-0000-7000-8000-000000000000");
  assert.deepEqual(given, kept);
});

test("UUIDv7s sort by their time", () => {
  const luck = chance(4);
  const times = Array.from({ length: 500 }, () => luck.below(2 ** 47)).sort((a, b) => a - b);
  const ids = [...new Set(times)].map((now) => uuid7(now, luck.bytes(16)));
  assert.deepEqual([...ids].sort(), ids);
});

test("references are the ones that the server computes", () => {
  const vectors = JSON.parse(readFileSync(new URL("vectors.json", import.meta.url), "utf8"));
  assert.ok(vectors.length >= 50);
  for (const { id, reference } of vectors) {
    assert.equal(referenceOf(id), reference, id);
    assert.equal(referenceOf(id.toUpperCase()), reference, id);
  }
});
