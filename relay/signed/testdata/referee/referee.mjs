// Signs and verifies with an implementation of RFC 9421 that is not ours. It reads
// a list of tasks, and writes a list of what came of each.
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { httpbis } from "http-message-signatures";

const seconds = (n) => new Date(n * 1000);
const mac = (task, base) => createHmac("sha256", Buffer.from(task.secret, "base64")).update(base).digest();

async function verify(task) {
  const key = { id: task.keyid, verify: async (base, signature) => timingSafeEqual(mac(task, base), signature) };
  const config = { keyLookup: async ({ keyid }) => keyid === task.keyid ? key : null, tolerance: 5 };
  return { verified: await httpbis.verifyMessage(config, task.message, task.request) === true };
}

async function sign(task) {
  const { created, expires, nonce, tag, keyid } = task;
  const values = { created: seconds(created), nonce, tag, keyid };
  if (expires) values.expires = seconds(expires);
  const key = { id: keyid, sign: async (base) => mac(task, base) };
  const config = { key, name: "sig1", fields: task.fields, params: task.params, paramValues: values };
  return { headers: (await httpbis.signMessage(config, task.message, task.request)).headers };
}

const results = [];
for (const task of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    results.push(await (task.sign ? sign : verify)(task));
  } catch (error) {
    results.push({ error: String(error) });
  }
}
console.log(JSON.stringify(results));
