// The receipt's page follows its reference: when the answer changes, so does the
// page, without a reload. The page is whole without it.

import { button, copier, make, unsee } from "./dom.mjs";

const FIRST = 5000, LAST = 60000; // ms between two looks

const TONES = { accepted: "good", queued: "good", processing: "good", uncertain: "doubt", not_sent: "bad" };

/**
 * `main` is the receipt: data-id, data-outcome; the labels data-copy, data-copied,
 * data-print and data-save, each of which makes a button; data-word-OUTCOME, the
 * status in a word; data-more, the label of a link to what can be done now. Its
 * parts: h1, .text, .status with an icon and a span, .reference, .written.
 */
function follow(main) {
  const find = (selector) => main.querySelector(selector), label = (name) => main.getAttribute("data-" + name);
  const line = make("p", { role: "status", "aria-live": "polite", class: "fine" });
  let outcome = label("outcome"), tries = 0, timer = 0, asking = false;

  const open = () => /^(queued|processing|uncertain|unseen)$/.test(outcome);

  async function look() {
    clearTimeout(timer);
    if (asking || !open()) return;
    asking = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "application/json" }, cache: "no-store" });
      take(await answer.json());
    } catch { /* no answer is no news */ }
    asking = false;
    plan();
  }

  function plan() {
    const limit = Math.min(LAST, FIRST * 1.5 ** tries++);
    if (open()) timer = setTimeout(look, limit * (0.5 + Math.random() / 2));
  }

  // Only an answer about this very message counts.
  function take({ id, outcome: now, title, detail }) {
    if (id !== label("id") || !now || now === outcome) return;
    outcome = now;
    tries = 0;
    main.classList.remove("good", "doubt", "bad", "plain");
    main.classList.add(TONES[now] || "plain");
    find(".status").replaceChildren(make("span", {}, label("word-" + now) || title)); // without the icon of before
    find("h1").textContent = unsee(line, true).textContent = title; // spoken, and not shown twice
    if (find(".text")) find(".text").textContent = detail;
    // What can be done now stands on the page as the server makes it.
    if (now === "not_sent" && label("more")) line.before(make("p", {}, make("a", { href: location.href, class: "button" }, label("more"))));
  }

  function text() {
    const facts = [...main.querySelectorAll(".facts > div")].map((fact) => [...fact.children].map((e) => e.textContent.trim()).join(": "));
    return [find("h1").textContent, find(".text") && find(".text").textContent, find(".written").textContent, ...facts, location.href, ""].join("\n");
  }

  function save() {
    const href = URL.createObjectURL(new Blob([text()], { type: "text/plain" }));
    make("a", { href, download: find(".written").textContent + ".txt" }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  }

  const copied = () => (unsee(line, false).textContent = label("copied"));
  const tools = [
    label("copy") && copier(label("copy"), find(".written").textContent, copied),
    label("print") && button(label("print"), () => print()),
    label("save") && button(label("save"), save),
  ];
  find(".reference").append(make("p", { class: "tools" }, ...tools.filter(Boolean).flatMap((tool) => [tool, " "])), line);
  addEventListener("pageshow", look);
  document.addEventListener("visibilitychange", () => document.hidden || look());
  addEventListener("online", look);
  plan();
}

const begin = () => document.querySelectorAll("[data-formledger-receipt]").forEach(follow);

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
else begin();
