// Runs the sample Worker on this machine: an HTTP server for its fetch handler, a
// database at DB_URL in the place of D1, and a send function that does as MODE says.
import { webcrypto } from "node:crypto";
import { createServer } from "node:http";
import { writeFileSync } from "node:fs";

globalThis.crypto ??= webcrypto; // before Node 20
const { default: worker } = await import(process.env.RELAY);

async function ask(sql, args) {
  const answer = await fetch(process.env.DB_URL, { method: "POST", body: JSON.stringify({ sql, args }) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

const statement = (sql, args) => ({
  bind: (...bound) => statement(sql, bound),
  first: async () => (await ask(sql, args)).rows[0] ?? null,
  run: async () => ({ meta: { changes: (await ask(sql, args)).changes } }),
});

let sent = 0;
async function send(message) {
  if (process.env.MODE === "die") process.exit(1);
  if (process.env.MODE === "refuse") return { refused: true, permanent: true, code: "mailbox_full" };
  writeFileSync(`${process.env.SENT}/${process.pid}-${sent++}`, JSON.stringify(message));
  if (process.env.MODE === "doubt") throw new Error("the connection broke");
  return { accepted: true, receipt: "taken" };
}

const env = {
  KEYS: process.env.KEYS, FROM: JSON.parse(process.env.FROM), TO: JSON.parse(process.env.TO),
  DB: { prepare: (sql) => statement(sql, []) }, send,
};

const server = createServer(async (req, res) => {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  const headers = new Headers(); // joins what came twice, as the platform does
  for (let i = 0; i < req.rawHeaders.length; i += 2) headers.append(req.rawHeaders[i], req.rawHeaders[i + 1]);
  const body = req.method === "GET" ? undefined : Buffer.concat(chunks);
  const request = new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers, body });
  const response = await worker.fetch(request, env, { waitUntil() {} });
  res.writeHead(response.status, Object.fromEntries(response.headers));
  res.end(Buffer.from(await response.arrayBuffer()));
});
server.listen(0, "127.0.0.1", () => console.log(`listening at 127.0.0.1:${server.address().port}.`));
