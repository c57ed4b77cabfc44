// A model of formledger's server: one ID, one content; a claim makes one call; only a
// free row is sent. It counts the mails. See docs/api.md for what it answers.

export class Server {
  rows = new Map(); // ID → {content, status, mails, mailed}
  calm = false; // no more mishaps of its own

  constructor(clock, luck, public_ = "https://forms.example.com") {
    Object.assign(this, { clock, luck, public_ });
  }

  /** Answers one request: [status, body, headers]. */
  answer(method, url, body) {
    if (!this.calm && this.luck.odds(0.05)) return this.broken();
    return method === "POST" ? this.post(body) : this.receipt(url.match(/receipts\/([^?]+)/)[1]);
  }

  broken() {
    return this.luck.odds(0.5)
      ? [500, { type: "urn:formledger:problem:internal" }]
      : [503, { type: "urn:formledger:problem:unavailable" }, { "Retry-After": this.luck.pick(["3", "10", "soon"]) }];
  }

  post(body) {
    const pairs = [...new URLSearchParams(body)];
    const id = pairs[0][1], content = JSON.stringify(pairs.slice(1).filter(([name]) => name[0] !== "_"));
    if (content.includes("wrong")) return this.of(id, "invalid", 422, { errors: [{ field: "message", code: "wrong", message: "m" }] });
    const row = this.rows.get(id);
    if (row && row.content !== content) return this.of(id, "conflict", 409, { safe_new_id: true });
    if (row && row.status !== "free") return this.recorded(id, row);
    return this.guard(id) || this.send(id, row || { content, mails: 0 });
  }

  /** What may stand before a fresh send. Nothing is recorded. */
  guard(id) {
    if (this.calm) return;
    const it = this.luck.random();
    if (it < 0.05) return this.of(id, "limited", 429, {}, { "Retry-After": this.luck.pick(["1", "20", "90"]) });
    if (it < 0.07) return this.of(id, "challenge", 403);
    if (it < 0.09) return this.of(id, "not_sent", 503, { type: "urn:formledger:problem:not_claimed" }, { "Retry-After": "10" });
    if (it < 0.10) return [413, { type: "urn:formledger:problem:too_large" }];
  }

  /** One claim, one call, and how it ends: now, or while the answer is "processing". */
  send(id, row) {
    this.rows.set(id, row);
    const end = this.calm ? "accepted" : this.luck.pick(["accepted", "accepted", "queued", "free", "taken?", "lost?"]);
    if (!this.luck.odds(0.3)) this.end(row, end);
    else {
      row.status = "processing";
      this.clock.wait(this.luck.random() * 60_000, () => this.end(row, end));
    }
    return this.recorded(id, row, 201);
  }

  end(row, end) {
    if (end === "accepted" || end === "queued" || end === "taken?") row.mails++;
    row.status = end.endsWith("?") ? "uncertain" : end;
  }

  /** The operator finds out, and says so. */
  decide() {
    for (const row of this.rows.values()) {
      if (row.status === "uncertain") row.status = row.mails ? "accepted" : "free";
    }
  }

  recorded(id, row, first = 200) {
    switch (row.status) {
      case "accepted": return this.of(id, "accepted", first);
      case "queued": return this.of(id, "queued", 202);
      case "uncertain": return this.of(id, "uncertain", 409);
      case "processing": return this.of(id, "processing", 409, {}, { "Retry-After": "3" });
      default: return this.of(id, "not_sent", 503, { safe_new_id: true }, { "Retry-After": "10" });
    }
  }

  receipt(id) {
    const row = this.rows.get(id);
    if (!row) return this.of(id, "unseen", 404);
    const [, body] = this.recorded(id, row);
    return [200, body, {}];
  }

  of(id, outcome, status, more = {}, headers = {}) {
    const receipt = this.luck.odds(0.5) ? { receipt: this.public_ + "/receipts/" + id } : {};
    return [status, { outcome, id, safe_new_id: false, ...receipt, ...more }, headers];
  }
}
