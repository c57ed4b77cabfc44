// A relay for formledger as a Worker: it takes the signed call of a form server
// and hands the message to a mail service, at most once for every claim.
// docs/relay-protocol.md says what it has to do, README.md how to configure it.

const MAX_CALL = 1 << 20, LIFE = 60, SKEW = 30; // bytes of a body; seconds of a call, and of a clock that is ahead
const AT_WORK = 5 * 60 * 1000; // milliseconds after which a send without result is uncertain

// To fill in: hand the message to your mail service, in ONE try, and return
//   {accepted: true, receipt: "its words"}          it has taken the message,
//   {refused: true, permanent: false, code: "..."}  it certainly has not.
// Anything else, and whatever is thrown, counts as uncertain. Put the reference
// into the subject and the Message-ID, Date and Reply-To where they belong.
const send = (env, message) => env.send(message);

// These five know the database (D1). Another one will do if it keeps what it has
// reported as written, and inserts a claim only once whoever asks.
const store = (db) => ({
  epoch: () => db.prepare("SELECT value FROM epoch").first(),
  find: (claim) => db.prepare("SELECT * FROM calls WHERE claim = ?").bind(claim).first(),
  accepted: (id, hash) => db.prepare(ACCEPTED).bind(id, hash).first(), // of the same content, if there is one
  insert: async (row) => (await db.prepare(INSERT).bind(...row).run()).meta.changes === 1,
  settle: (claim, status, answer) => db.prepare(SETTLE).bind(status, answer, claim).run(),
});
const ACCEPTED = "SELECT * FROM calls WHERE submission_id = ? AND status = 'accepted' ORDER BY payload_hash = ? DESC";
const SETTLE = "UPDATE calls SET status = ?, answer = ? WHERE claim = ? AND status = 'processing'";

// A claim begins to send only if no other claim of its submission is sending or
// has sent. One statement, so that no call comes between.
const INSERT = `INSERT INTO calls (claim, submission_id, payload_hash, status, answer, at) SELECT ?1, ?2, ?3, ?4, ?5, ?6
  WHERE ?4 <> 'processing' OR NOT EXISTS (SELECT 1 FROM calls WHERE submission_id = ?2 AND
    (status = 'processing' AND at > ?6 - ${AT_WORK} OR status = 'accepted'))
  ON CONFLICT DO NOTHING`;

const PATHS = { send: "/v1/messages", inquiry: "/v1/inquiries", hello: "/v1/hello" };
const ACK = '("@status" "content-type" "content-digest" "@method";req "@authority";req "@path";req ' +
  '"content-digest";req "relay-submission-id";req "signature";req;key="sig1")';
const INPUT = new RegExp('^sig1=(' +
  '\\("@method" "@authority" "@path" "content-type" "content-digest" "relay-submission-id"\\)' +
  ';created=([1-9][0-9]{0,10});expires=([1-9][0-9]{0,10});nonce="[A-Za-z0-9_-]{16,64}"' +
  ';keyid="([a-z0-9-]{1,32})\\.call";tag="relay-(send|inquiry|hello)-v1")$');
const SIGNATURE = /^sig1=:([A-Za-z0-9+\/]{43}=):$/, DIGEST = /^sha-256=:([A-Za-z0-9+\/]{43}=):$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, CLAIM = /^[A-Za-z0-9_-]{21}[AQgw]$/;

export default {
  async fetch(request, env, context) {
    const work = relay(request, env).catch((error) => {
      console.error("relay:", error); // unsigned, so the form server concludes nothing
      return unsigned(503, "the relay cannot say what became of the call");
    });
    context?.waitUntil?.(work); // goes on if the form server hangs up
    return work;
  },
};

async function relay(request, env) {
  const call = await verify(request, env);
  if (!call) return unsigned(401, "not verified");
  const raw = await request.arrayBuffer(); // the platform has its own limit
  if (raw.byteLength > MAX_CALL) return unsigned(413, "too long");
  if (await digestOf(raw) !== call.digest) return unsigned(401, "not verified");
  const db = store(env.DB), epoch = (await db.epoch()).value;
  const body = parse(raw, call);
  if (!body) return unsigned(400, "not what the protocol says");
  if (call.tag !== "send" && late(call)) return unsigned(401, `not verified: ${late(call)}`); // may be a copy
  if (call.tag === "hello") return acknowledge(call, { epoch, time: new Date().toISOString(), from: env.FROM, to: env.TO });
  let row = await db.find(body.claim); // before every refusal
  if (!row) row = call.tag === "send" ? await carry(call, body, env, db, epoch) : await inquire(body, db);
  if (row.submission_id !== body.submission_id || row.payload_hash !== body.payload_hash) return unsigned(409, "not this claim");
  const stuck = row.status === "processing" && Date.now() - row.at >= AT_WORK;
  return acknowledge(call, { submission_id: row.submission_id, payload_hash: row.payload_hash, claim: row.claim,
    epoch, ...JSON.parse(row.answer), status: stuck ? "uncertain" : row.status });
}

// verify checks everything of a call but its body and its time.
async function verify(request, env) {
  const url = new URL(request.url), header = (name) => request.headers.get(name) ?? "";
  const input = INPUT.exec(header("signature-input"));
  const signature = bytesOf(SIGNATURE.exec(header("signature"))?.[1]);
  const id = header("relay-submission-id"), digest = header("content-digest");
  if (!input || !signature || !bytesOf(DIGEST.exec(digest)?.[1]) || !UUID.test(id)) return null;
  const [, params, created, expires, name, tag] = input;
  if (header("content-type") !== "application/json" || request.method !== "POST") return null;
  if (url.pathname !== PATHS[tag] || url.search !== "") return null;
  const key = await keyOf(env, name, "call"), ackKey = await keyOf(env, name, "ack");
  if (!key || !ackKey) return null;
  const base = `"@method": POST\n"@authority": ${url.host}\n"@path": ${url.pathname}\n"content-type": application/json\n` +
    `"content-digest": ${digest}\n"relay-submission-id": ${id}\n"@signature-params": ${params}`;
  if (!await crypto.subtle.verify("HMAC", key, signature, utf8(base))) return null;
  return { tag, id, digest, name, ackKey, created: Number(created), expires: Number(expires),
    authority: url.host, path: url.pathname, signature: base64(signature) };
}

// keyOf finds a key that is valid now in the key file, which is env.KEYS.
async function keyOf(env, name, direction) {
  for (const line of env.KEYS.split("\n")) {
    const [n, d, from, until, secret] = line.trim().split(/\s+/);
    if (n !== name || d !== direction) continue;
    const counts = (from === "-" || Date.parse(from) <= Date.now()) && (until === "-" || Date.now() < Date.parse(until));
    const bytes = bytesOf(secret);
    if (!counts || !bytes || bytes.length < 64) return null;
    return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
  }
  return null;
}

// parse reads the body of a call that asks to send, or what became of a claim.
function parse(raw, call) {
  let body;
  try { body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(raw)); } catch { return null; }
  if (call.tag === "hello") return /^[0-]+$/.test(call.id) && JSON.stringify(body) === "{}" ? body : null;
  const texts = ["submission_id", "payload_hash", "claim", "epoch"];
  if (call.tag === "send") texts.push("reference", "from", "subject", "date", "message_id", "text");
  if (body === null || !texts.every((name) => typeof body[name] === "string")) return null;
  if (body.submission_id !== call.id || !CLAIM.test(body.claim)) return null;
  if (body.payload_hash === "" || body.payload_hash.length > 128) return null;
  if (call.tag === "inquiry") return ["undefined", "boolean"].includes(typeof body.peek) ? body : null;
  if (!Array.isArray(body.to) || !body.to.every((to) => typeof to === "string")) return null;
  if (body.to.length === 0 || body.to.length > 100) return null;
  return ["undefined", "string"].includes(typeof body.reply_to) ? body : null;
}

function late(call) {
  if (Date.now() >= call.expires * 1000) return "call_expired";
  if (call.created > Date.now() / 1000 + SKEW) return "call_from_the_future";
  return call.expires - call.created > LIFE ? "call_lives_too_long" : "";
}

// inquire seals a claim that was never seen: its call, should it still be on the
// way, will not be sent. A peek only looks.
const inquire = (body, db) => body.peek ? { ...body, status: "unseen", answer: "{}" } : keep(body, { status: "sealed" }, db);

// carry sends the message of a claim that nobody has seen, or seals what it refuses.
async function carry(call, body, env, db, epoch) {
  let code = late(call), permanent = false;
  if (!code && body.epoch !== epoch) code = "wrong_epoch";
  if (!code && !env.FROM.includes(body.from)) [code, permanent] = ["from_not_allowed", true];
  if (!code && !body.to.every((to) => env.TO.includes(to))) [code, permanent] = ["to_not_allowed", true];
  if (code) return keep(body, { status: "refused", code, permanent }, db);
  if (!await db.insert(rowOf(body, { status: "processing" }))) {
    return await db.find(body.claim) ?? keep(body, await instead(body, db), db);
  }
  const { status, ...answer } = await attempt(call, body, env);
  await db.settle(body.claim, status, JSON.stringify(answer));
  return db.find(body.claim);
}

// instead is the answer if another claim of the same submission was faster.
async function instead(body, db) {
  const other = await db.accepted(body.submission_id, body.payload_hash);
  if (!other) return { status: "refused", code: "busy" };
  if (other.payload_hash !== body.payload_hash) return { status: "refused", code: "other_content", permanent: true };
  return { earlier_claim: other.claim, ...JSON.parse(other.answer), status: "accepted" };
}

async function attempt(call, message, env) {
  if (late(call)) return { status: "refused", code: late(call) };
  try {
    const said = await send(env, message);
    if (said?.accepted === true) return { status: "accepted", receipt: `${said.receipt ?? ""}`.slice(0, 1000) };
    const code = `${said?.code ?? "refused"}`.slice(0, 64);
    if (said?.refused === true) return { status: "refused", permanent: said.permanent === true, code };
  } catch (error) {
    console.error("relay: a send ended in doubt:", error);
  }
  return { status: "uncertain", code: "send_without_result" };
}

const rowOf = (body, { status, ...answer }) =>
  [body.claim, body.submission_id, body.payload_hash, status, JSON.stringify(answer), Date.now()];

// keep records an answer for good, unless the claim is known by now: then that counts.
async function keep(body, result, db) {
  await db.insert(rowOf(body, result));
  return db.find(body.claim);
}

async function acknowledge(call, answer) {
  const body = utf8(JSON.stringify(answer)), digest = await digestOf(body);
  const params = `${ACK};created=${Math.floor(Date.now() / 1000)};keyid="${call.name}.ack";tag="relay-ack-v1"`;
  const base = `"@status": 200\n"content-type": application/json\n"content-digest": ${digest}\n"@method";req: POST\n` +
    `"@authority";req: ${call.authority}\n"@path";req: ${call.path}\n"content-digest";req: ${call.digest}\n` +
    `"relay-submission-id";req: ${call.id}\n"signature";req;key="sig1": :${call.signature}:\n"@signature-params": ${params}`;
  const signature = base64(await crypto.subtle.sign("HMAC", call.ackKey, utf8(base)));
  return new Response(body, { status: 200, headers: { "content-type": "application/json", "content-digest": digest,
    "signature-input": `sig1=${params}`, signature: `sig1=:${signature}:` } });
}

const unsigned = (status, text) => new Response(`${text}\n`, { status });
const utf8 = (text) => new TextEncoder().encode(text);
const base64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
const digestOf = async (bytes) => `sha-256=:${base64(await crypto.subtle.digest("SHA-256", bytes))}:`;

// bytesOf decodes base64 in its only spelling; anything else is undefined.
function bytesOf(text) {
  try {
    const raw = atob(text ?? "");
    return text && btoa(raw) === text ? Uint8Array.from(raw, (c) => c.charCodeAt(0)) : undefined;
  } catch { return undefined; }
}
