// One random schedule: visitors, tabs, stores and a bad network against the model
// server, with every law checked after every step.

import { connect } from "../core.mjs";
import { ACTION, Clock, Store, chance, turn } from "./world.mjs";
import { Server } from "./server.mjs";
import { Network } from "./network.mjs";
import { Broken, Conduct, check, checkArrived, checkMails, checkPress, counts, fieldsOf, onRequest } from "./laws.mjs";

/** One tab of a browser, and the visitor before it. */
class Tab {
  key = "formledger " + ACTION;
  flights = new Set();
  awake = [];

  constructor(play, session, conduct = new Conduct()) {
    Object.assign(this, { play, session, conduct, local: play.local });
    this.open();
    this.edit();
  }

  open() {
    const { clock, luck, network, lang } = this.play, flights = this.flights = new Set();
    this.awake = [];
    this.begun = false;
    const tab = this;
    const fetch = (url, init) => {
      onRequest(tab, init.method, init.body);
      if (init.body) this.play.posts++;
      return network.fetch({ flights, get conduct() { return tab.conduct; } }, url, init);
    };
    this.client = connect({ action: ACTION, lang, world: {
      fetch: (...request) => this.play.guard(() => fetch(...request)),
      now: clock.now, random: luck.random, bytes: luck.bytes, wait: clock.wait, cancel: clock.cancel,
      session: this.session, local: this.local, online: (call) => this.awake.push(call),
    } });
  }

  edit(wrong = false) {
    const n = ++this.play.words;
    this.form = [["name", "wordN" + n + "."], ["message", (wrong ? "wordwrong" : "wordM") + n + "."]];
    this.client.keep(this.form);
  }

  press() {
    const before = this.client.status(), same = this.conduct.same(this.form), taken = counts(this, same);
    if (taken) {
      this.play.count(this.form);
      this.conduct.pressed(this.form);
    }
    this.begun = true;
    this.client.submit(this.form);
    if (taken) checkPress(this, before, same);
  }

  renew() {
    const { state, safeNewID } = this.client.status();
    this.client.renew();
    if (!safeNewID && !/^(accepted|queued|conflict)$/.test(state)) return;
    this.conduct.pressed(null);
    this.conduct.id = "";
  }

  resume() {
    this.begun = true;
    this.client.resume();
  }

  reload() {
    this.client.close();
    this.open();
    if (this.conduct.forgetful) this.recollect();
    if (this.play.luck.odds(0.9)) this.resume();
  }

  /** Where stores have failed, the new page goes by what it found. */
  recollect() {
    const { id, state, attempts } = this.client.status(), kept = this.conduct;
    const saved = this.session.mode === "broken" ? {} : JSON.parse(this.session.map.get(this.key) || "{}");
    this.conduct = Object.assign(new Conduct(), {
      id, forgetful: true, posts: attempts, fields: saved.body ? fieldsOf(saved.body) : null, body: null,
      told: kept.told.add(state + id).add(state),
    });
    this.edit();
  }

  spoil() {
    this.session.mode = this.play.luck.pick(["full", "broken", "ok"]);
    if (this.session.mode === "ok") return;
    this.conduct.forgetful = true;
    if (this.session.mode === "broken") this.session.broken = true;
  }
}

/** One schedule. */
class Play {
  clock = new Clock();
  local = new Store();
  words = 0;
  presses = new Map();
  posts = 0;
  log = [];
  fault = null;

  constructor(seed) {
    this.luck = chance(seed);
    this.server = new Server(this.clock, this.luck);
    this.network = new Network(this.clock, this.luck, this.server);
    this.network.good = this.luck.pick([0, 0.3, 0.7, 0.95]);
    this.lang = this.luck.pick([undefined, "de"]);
    this.faulty = this.luck.odds(0.25);
    this.tabs = [];
    this.tabs.push(new Tab(this, new Store()));
  }

  /** The core takes a throwing fetch for no answer, so a broken law is kept aside. */
  guard(call) {
    try {
      return call();
    } catch (fault) {
      if (fault instanceof Broken) this.fault = this.fault || fault;
      throw fault;
    }
  }

  count(form) {
    const content = JSON.stringify(form);
    this.presses.set(content, (this.presses.get(content) || 0) + 1);
  }

  check = () => {
    if (this.fault) throw this.fault;
    for (const tab of this.tabs) check(tab);
  };

  advance(ms) { return this.clock.advance(ms, this.check); }

  event() {
    const { luck } = this, tab = luck.pick(this.tabs);
    const events = {
      press: () => tab.press(),
      twice: () => { tab.press(); tab.press(); },
      edit: () => tab.edit(luck.odds(0.1)),
      reload: () => tab.reload(),
      resume: () => tab.resume(),
      look: () => tab.client.look(),
      online: () => tab.awake.forEach((call) => call()),
      renew: () => tab.renew(),
      decide: () => this.server.decide(),
      duplicate: () => { if (this.tabs.length < 3 && tab.session.mode === "ok" && !tab.conduct.forgetful) this.duplicate(tab); },
      spoil: () => { if (this.faulty) tab.spoil(); },
      spoilLocal: () => { if (this.faulty) this.local.mode = luck.pick(["full", "broken", "ok"]); },
    };
    const often = ["press", "press", "press", "press", "edit", "edit", "reload", "look", "decide"];
    const name = luck.odds(0.5) ? luck.pick(often) : luck.pick(Object.keys(events));
    this.log.push(`${this.clock.time % 1e8 / 1000} s: ${name} in tab ${this.tabs.indexOf(tab)}, ${tab.client.status().state}`);
    events[name]();
  }

  duplicate(tab) {
    const twin = new Tab(this, tab.session.copy(), tab.conduct.copy());
    this.tabs.push(twin);
    twin.resume();
  }

  async run() {
    for (let steps = 8 + this.luck.below(25); steps > 0; steps--) {
      this.event();
      await turn();
      this.check();
      await this.advance(this.luck.pick([0, 100, 1000, 3000, 10_000, 20_000, 60_000, 400_000]));
      this.check();
    }
    await this.finish();
  }

  /** The network is good for long, the operator decides, the visitor does their part. */
  async finish() {
    this.network.good = 1;
    this.server.calm = true;
    const open = ({ client }) => !/^(draft|accepted|queued)$/.test(client.status().state);
    for (let round = 0; round < 6 && (round === 0 || this.tabs.some(open)); round++) {
      this.server.decide();
      for (const tab of this.tabs) this.helpOn(tab);
      await this.advance(1_300_000);
      this.check();
    }
    for (const tab of this.tabs) checkArrived(tab, this.server);
    checkMails(this.server, this.presses);
  }

  helpOn(tab) {
    const { state, attempts } = tab.client.status();
    if (!tab.begun) tab.resume();
    if (state === "conflict") tab.renew();
    if (state === "invalid" || tab.form[1][1].includes("wrong")) tab.edit();
    if (/^(not_sent|invalid|conflict|challenge|refused)$/.test(state) || state === "limited" && attempts >= 6) tab.press();
  }
}

/** Runs the schedule of a seed, and tells what there was. */
export async function run(seed) {
  const play = new Play(seed);
  try {
    await play.run();
  } catch (fault) {
    fault.message += `\nFORMLEDGER_SEED=${seed} runs this schedule again. Its steps:\n` + play.log.join("\n");
    throw fault;
  }
  const sum = (numbers) => [...numbers].reduce((a, b) => a + b, 0);
  return {
    presses: sum(play.presses.values()), posts: play.posts,
    mails: sum([...play.server.rows.values()].map(({ mails }) => mails)),
  };
}
