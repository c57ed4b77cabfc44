// What a visitor sees of an enquiry: one status line that is spoken politely,
// and a panel that says what is known, what is not, what to do, where to ask.

import { button, copier, make, unsee } from "./dom.mjs";
import { controlOf, firstOf } from "./fields.mjs";

// What is true of a state. o: something was found out, and a heading says it.
// h: the fields are held. s: the form's own button does not send. d: it is done.
// c: the visitor may want to ask. r: there is a receipt to look at. n: the next try
// is told.
const KINDS = {
  draft: "", sending: "h", unreached: "hnc", limited: "hsnoc", accepted: "odr", queued: "odr", uncertain: "hsocr",
  conflict: "soc", not_sent: "oc", invalid: "o", refused: "oc", challenge: "oc",
};

export const is = (state, kind) => KINDS[state].includes(kind);

// Symbol by symbol, with a pause at each hyphen: a screen reader would make
// words of them.
const spell = (reference) => reference.replace(/\B/g, " ").replace(/-/g, ", ");

/** Makes the box, for a form that posts to `action`. */
export function panel(form, action, contact) {
  // The line stands in the page before it is filled, or it would not be spoken.
  const line = make("p", { role: "status", "aria-live": "polite" }), note = make("p");
  const body = make("div"), box = make("div", { class: "formledger" }, line, body, note);
  function reference(code, words) {
    const written = make("code", { "aria-hidden": true, dir: "ltr" }, code);
    const copied = () => (line.textContent = note.textContent = words.copied);
    return make("p", {}, words.reference + ": ", written, unsee(make("span", {}, spell(code)), true), " ", copier(words.copy, code, copied));
  }

  function problem({ field, message }) {
    const control = controlOf(form, field);
    if (!control) return make("li", {}, message);
    const link = make("a", { href: "#" + control.id }, message);
    link.onclick = () => !!control.focus(); // and no new entry in the history
    return make("li", {}, link);
  }

  function receipt(address, words) {
    const href = new URL(address, action).href;
    return href.startsWith("http") && make("p", {}, make("a", { href }, words.receipt));
  }

  function contents({ state, answer, reference: code }, words, wayOn) {
    const { title, detail, errors, receipt: address, contact: line = contact } = answer || {}, asks = is(state, "c"), told = is(state, "o");
    return [
      told && make("h2", { tabindex: -1 }, title),
      told && make("p", {}, detail),
      errors && make("ul", {}, ...errors.map(problem)),
      code && reference(code, words),
      asks && line && make("p", {}, words.contact + ": ", line),
      address && is(state, "r") && receipt(address, words),
      wayOn && button(words[wayOn[0]], wayOn[1]),
    ];
  }

  const heading = () => body.querySelector("h2") || firstOf(form);

  // What did not change stays, for whoever is reading it or pressing a button.
  function draw(status, words, wayOn) {
    const fresh = make("div", {}, ...contents(status, words, wayOn)), inside = body.contains(document.activeElement);
    box.lang = words.lang;
    box.dir = words.dir;
    box.dataset.state = status.state;
    if (fresh.isEqualNode(body)) return;
    body.replaceChildren(...fresh.childNodes);
    if (inside) heading().focus();
  }

  return { box, line, note, heading, draw };
}
