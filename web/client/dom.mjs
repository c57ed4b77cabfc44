// Elements, made in a way that needs neither inline markup nor inline style: a
// strict Content-Security-Policy and Trusted Types have nothing to object to.

/** Sets an attribute; null takes it away. */
export function set(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, value);
}

/** Makes an element. A string becomes text, never markup. */
export function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const name in attributes) set(element, name, attributes[name]);
  element.append(...children.filter(Boolean));
  return element;
}

// For screen readers alone. It is not left to a style sheet, which a page may
// not have; scripts may set style properties under any policy (CSP 3, 6.1.14).
const UNSEEN = "position:absolute;clip-path:inset(50%)";

/** Hides from the eye, not from the ear. */
export function unsee(element, on) {
  element.style.cssText = on ? UNSEEN : "";
  return element;
}

/** A button that is at least 24 px high (WCAG 2.2, 2.5.8) without any style. */
export function button(label, press) {
  const element = make("button", { type: "button" }, label);
  element.style.minHeight = "24px";
  element.onclick = press;
  return element;
}

/** A button that copies a text; none where there is no clipboard, as on plain http. A
 *  page in a frame may be refused the clipboard: then nothing is said. */
export const copier = (label, text, copied) =>
  navigator.clipboard && button(label, () => navigator.clipboard.writeText(text).then(copied, Boolean));
