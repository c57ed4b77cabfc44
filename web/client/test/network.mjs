// A network between clients and the model server that loses, delays, doubles and forges.

import { ABORTED, response } from "./world.mjs";

// What can become of a request, and how often, where the network is bad.
const FATES = Object.entries({
  fine: 10, lostBefore: 4, lostAfter: 5, answerLate: 3, arrivesLate: 3, twice: 4, hangs: 2, slowBody: 2,
  page: 2, redirect: 2, proxy: 2, truncated: 2, otherAccepted: 2, otherNotSent: 1, empty: 1, strange: 1, throws: 1,
}).flatMap(([fate, n]) => Array(n).fill(fate));
const OTHER_ID = "01942444-4ca6-7000-8000-0000011e8534";

export class Network {
  good = 0; // how likely a request has no mishap

  constructor(clock, luck, server) { Object.assign(this, { clock, luck, server }); }

  fetch(tab, url, init) {
    const fate = this.luck.odds(this.good) ? "fine" : this.luck.pick(FATES);
    if (fate === "throws") throw new TypeError("blocked");
    return new Promise((resolve, reject) => {
      const flight = { tab, url, init, resolve, reject, over: false };
      tab.flights.add(flight);
      init.signal.addEventListener("abort", () => this.end(flight, reject, ABORTED));
      this[fate](flight);
    });
  }

  end(flight, settle, value) {
    if (flight.over) return;
    flight.over = true;
    flight.tab.flights.delete(flight);
    settle(value);
  }

  /** The request reaches the server, whatever the client does meanwhile. */
  arrive({ url, init }) { return this.server.answer(init.method, url, init.body); }

  later(least, most, call) { this.clock.wait(1000 * (least + this.luck.random() * (most - least)), call); }

  deliver(flight, [status, body, headers]) {
    if (flight.over) return;
    const { told } = flight.tab.conduct;
    if (body.outcome) told.add(body.outcome + body.id);
    else if (status < 500) told.add("refused");
    this.end(flight, flight.resolve, response(status, JSON.stringify(body), headers));
  }

  lose(flight) { this.end(flight, flight.reject, new TypeError("Failed to fetch")); }

  text(flight, status, text, headers) {
    this.later(0, 3, () => this.end(flight, flight.resolve, response(status, text, headers)));
  }

  fine(flight) {
    this.later(0, 2, () => {
      const answer = this.arrive(flight);
      this.later(0, 2, () => this.deliver(flight, answer));
    });
  }

  lostBefore(flight) { this.later(0, 5, () => this.lose(flight)); }

  lostAfter(flight) {
    this.later(0, 2, () => {
      this.arrive(flight);
      this.later(0, 5, () => this.lose(flight));
    });
  }

  answerLate(flight) {
    this.later(0, 2, () => {
      const answer = this.arrive(flight);
      this.later(12, 60, () => this.deliver(flight, answer));
    });
  }

  arrivesLate(flight) { this.later(14, 120, () => this.deliver(flight, this.arrive(flight))); }

  twice(flight) {
    this.later(0, 90, () => this.arrive(flight));
    this.fine(flight);
  }

  hangs(flight) { this.later(0, 2, () => this.arrive(flight)); }

  /** The head of the answer comes, the rest when it is too late, or nearly. */
  slowBody(flight) {
    this.later(0, 2, () => {
      const [status, body, headers] = this.arrive(flight);
      flight.resolve({
        ...response(status, "", headers),
        json: () => new Promise((resolve, reject) => {
          this.later(5, 25, () => this.deliver({ ...flight, over: flight.over, resolve: (r) => resolve(r.json()) }, [status, body, headers]));
          flight.init.signal.addEventListener("abort", () => reject(ABORTED));
        }),
      });
    });
  }

  page(flight) { this.text(flight, 200, "<!DOCTYPE html><title>Log in</title>"); }
  redirect(flight) { this.later(0, 1, () => this.lose(flight)); }
  proxy(flight) { this.text(flight, this.luck.pick([502, 503, 504]), "<h1>Bad gateway</h1>", { "Retry-After": "5" }); }

  truncated(flight) {
    this.later(0, 2, () => this.text(flight, 200, JSON.stringify(this.arrive(flight)[1]).slice(0, -1)));
  }

  otherAccepted(flight) { this.text(flight, 200, JSON.stringify({ outcome: "accepted", id: OTHER_ID })); }
  otherNotSent(flight) { this.text(flight, 503, JSON.stringify({ outcome: "not_sent", id: OTHER_ID, safe_new_id: true })); }
  empty(flight) { this.text(flight, 200, this.luck.pick(["", "null", "[]", "{}", "7", '"accepted"'])); }

  strange(flight) {
    const id = new URLSearchParams(flight.init.body || "").get("submission_id");
    this.text(flight, 200, JSON.stringify({ outcome: this.luck.pick(["sent", "", "unseen", 1, ["accepted"]]), id }));
  }
}
