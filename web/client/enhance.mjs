// What a form does once it is taken over: it sends by script, keeps to one ID for
// one enquiry, and says at every moment what is known of it.

import { connect } from "./core.mjs";
import { accuse, controlOf, draftOf, fieldsOf, fill, firstOf, holder } from "./fields.mjs";
import { unsee } from "./dom.mjs";
import { is, panel } from "./panel.mjs";
import { english } from "./english.mjs";

const DRAFT = 400; // ms from the last key to keeping the draft
const LONG = 8000; // ms after which "sending" wants another word

/** Takes over a form, once. `options` has to have the script's address, as base. */
export function enhance(form, options) {
  return form.formledger = form.formledger || start(form, options);
}

function start(form, options) {
  // Attributes are read as such: a field named "action" hides form.action.
  const told = (name) => options[name] || form.getAttribute("data-" + name);
  const action = new URL(options.action || form.getAttribute("action"), document.baseURI).href;
  const [lang] = (told("lang") || document.documentElement.lang || navigator.language).split("-");
  const core = connect({ action, lang, world: options.world });

  const hold = holder(form);
  const { box, line, note, heading, draw } = panel(form, action, told("contact"));
  const kept = core.kept() || [];
  let words = options.texts || lang === "en" && english, state = "draft", accusations = [];
  let restored = kept.some(([, value]) => value), submitter, pressed, since, said, saving, closed;

  // The server's sentences come translated; what is the browser's own lies beside
  // the script. Any trouble means English.
  async function translate() {
    try {
      words = { ...english, ...await (await fetch(new URL(`texts/${lang}.json`, options.base))).json() };
    } catch {
      words = english;
    }
    show();
  }

  // The one button of the panel: its word, and what it does.
  const wayOn = (answer) => ({
    draft: restored && ["clear", clear],
    unreached: ["try_now", core.look],
    limited: ["send_again", send],
    not_sent: answer?.retryable && ["send_again", send],
    conflict: ["send_new", sendAsNew],
  })[state] || is(state, "d") && ["write_another", another];

  function send() {
    clearTimeout(saving);
    words = words || english; // who pressed Send must not wait for words
    pressed = true;
    restored = false;
    core.submit(fieldsOf(form, submitter));
  }

  function sendAsNew() {
    core.renew();
    send();
  }

  function clear() {
    restored = false;
    HTMLFormElement.prototype.reset.call(form); // a field may be named "reset"
    core.keep(null);
    show();
    firstOf(form).focus();
  }

  function another() {
    core.renew();
    clear();
  }

  function onSubmit(event) {
    if (closed || event.defaultPrevented) return;
    event.preventDefault();
    submitter = event.submitter;
    if (is(state, "s")) heading().focus();
    else send(); // which goes on with what is under way
  }

  const keep = () => closed || is(state, "d") || core.keep(draftOf(form));

  function onInput() {
    clearTimeout(saving);
    saving = setTimeout(keep, DRAFT);
  }

  // What the status line says where no heading does.
  function sayingOf({ quiet, answer }) {
    if (state === "draft") return restored ? words.restored : "";
    if (!navigator.onLine) return words.offline;
    if (state === "sending") return answer ? answer.detail : Date.now() - since < LONG ? words.sending : words.sending_long;
    return quiet ? words.unreached_quiet : words.unreached + ". " + words.unreached_detail;
  }

  function nextOf({ next }) {
    const seconds = (next - Date.now()) / 1000 | 0;
    return is(state, "n") && seconds > 0 ? words.next_try.replace("{seconds}", seconds) : "";
  }

  // What a new state means for the form.
  function enter(now, errors = []) {
    accusations.forEach((withdraw) => withdraw?.());
    accusations = errors.map(({ field, message }) => accuse(controlOf(form, field), words.problem + ": " + message));
    hold(is(now, "h"));
    for (const child of form.children) {
      if (!child.contains(box)) child.style.display = is(now, "d") ? "none" : "";
    }
    since = Date.now();
    state = now;
  }

  function show() {
    if (closed || !words) return;
    const status = core.status(), changed = status.state !== state, active = document.activeElement;
    // The focus moves only for who waits for it, not out of another form.
    const awaited = pressed && (active.contains(form) || form.contains(active));
    if (changed) enter(status.state, status.answer?.errors);
    draw(status, words, wayOn(status.answer));
    note.textContent = nextOf(status);
    // A heading gets the focus, or else is spoken.
    const outcome = is(state, "o"), text = !outcome ? sayingOf(status) : awaited ? "" : heading().textContent;
    unsee(line, outcome);
    // The same words again would be spoken again.
    if (outcome ? changed : text !== said) line.textContent = said = text;
    if (outcome && changed && awaited) heading().focus();
  }

  function onStatus(status) {
    show();
    form.dispatchEvent(new CustomEvent("formledger", { bubbles: true, detail: status }));
  }

  // For the words that depend on the time.
  const ticking = setInterval(() => is(state, "h") && show(), 1000);

  function close() {
    core.close();
    enter("draft");
    box.remove();
    clearInterval(ticking);
    form.formledger = null;
    closed = true;
  }

  (document.getElementById(told("formledger-status")) || form).prepend(box);
  form.addEventListener("submit", onSubmit);
  form.addEventListener("input", onInput);
  for (const back of ["pageshow", "visibilitychange"]) addEventListener(back, core.look);
  fill(form, kept);
  core.on(onStatus);
  core.resume();
  if (words) show();
  else translate();
  return { status: core.status, close };
}
