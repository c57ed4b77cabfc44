// The fields of a form: what is sent, what is kept, holding them still while a
// message is under way, and what is wrong with them.

import { make, set } from "./dom.mjs";

/** What is sent: text, and no files. Of submission_id and _lang the core makes its
 *  own. Browsers from before 2023 leave out the name of the button. */
export const fieldsOf = (form, submitter) => [...new FormData(form, submitter)].filter(([, value]) => value.trim);

/** Where typing can start. */
export const firstOf = (form) => form.querySelector("[name]:not([type=hidden])") || form;

const ticked = (control) => /^(checkbox|radio)$/.test(control.type);

// Only what the visitor typed: no secrets, no files, nothing that a script or
// the page put there.
const drafted = (form) => [...form.elements].filter((c) => /^[^_]/.test(c.name) && !c.closest("[data-formledger-skip]") &&
  (c.options || ticked(c) || c.type !== "password" && c.matches(":read-write")));

const valuesOf = (c) => c.options ? [...c.selectedOptions].map((o) => o.value) : ticked(c) && !c.checked ? [] : [c.value];

/** The words that a draft keeps. */
export const draftOf = (form) => drafted(form).flatMap((c) => valuesOf(c).map((value) => [c.name, value]));

/** Puts kept words back; over what somebody wrote there only if told so. */
export function fill(form, fields, over) {
  const kept = new URLSearchParams(fields);
  for (const c of drafted(form)) {
    const values = kept.getAll(c.name);
    if (c.options) for (const o of c.options) o.selected = values.includes(o.value);
    else if (ticked(c)) c.checked = values.includes(c.value);
    else if (values.length === 1 && (over || c.value === c.defaultValue)) c.value = values[0];
  }
}

/**
 * Gives a function that holds the fields still, or lets go of them. Nothing is ever
 * `disabled`: Firefox keeps that over a reload, and a disabled field loses the
 * focus. What cannot be read-only is put back whenever it changes.
 */
export function holder(form) {
  let words, held;
  const put = (event) => words && (event.preventDefault(), fill(form, words, true));
  for (const type of ["change", "reset"]) form.addEventListener(type, put);
  addEventListener("pageshow", put); // a browser may have put back older words since
  return (on) => {
    if (!on === !words) return;
    if (on) held = [...form.elements].map((c) => [c, c.matches(":read-write")]);
    words = on && draftOf(form);
    for (const [c, typed] of held) {
      if (typed) c.readOnly = on;
      else set(c, "aria-disabled", on || null);
    }
  };
}

let made = 0;

/** The control that a field's name means, with an id to link to; or nothing. */
export function controlOf(form, name) {
  const control = [...form.elements].find((c) => c.name === name && c.type !== "hidden");
  if (control) control.id = control.id || "formledger-" + ++made;
  return control;
}

/** Says at a control, if there is one, what is wrong with it; gives a function that
 *  takes it back. Boxes to tick are one thing if they share a fieldset. */
export function accuse(control, message) {
  if (!control) return;
  const told = ticked(control) && control.closest("fieldset") || control, before = told.getAttribute("aria-describedby");
  const text = make("p", { id: control.id + "-problem", class: "formledger-problem" }, message);
  (told.closest("label") || told).before(text);
  set(told, "aria-describedby", text.id + " " + (before || ""));
  set(control, "aria-invalid", true);
  return () => {
    text.remove();
    set(control, "aria-invalid", null);
    set(told, "aria-describedby", before);
  };
}
