// The classic script, for <script src="…/formledger.js" defer>: it enhances what
// it finds, and leaves window.formledger for whoever wants to do it by hand.

import { connect } from "./core.mjs";
import { enhance as plain } from "./enhance.mjs";

// Only known while the script runs for the first time.
const base = document.currentScript?.src;

const enhance = (form, options) => plain(form, { base, ...options });

function begin() {
  for (const form of document.forms) {
    if (form.hasAttribute("data-formledger") || /\/f\/[\w-]+\/?(\?|$)/.test(form.getAttribute("action"))) enhance(form);
  }
}

window.formledger = { enhance, connect };
begin();
document.addEventListener("DOMContentLoaded", begin); // for what comes after this script
