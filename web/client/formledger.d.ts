// What the client does in a page; formledger.mjs is the code.

import type { Status, World } from "./core.js";

export { connect } from "./core.js";
export type { Answer, Client, Fields, State, Status, World } from "./core.js";

export interface EnhanceOptions {
  /** Where the form posts to; its own action if left out. */
  action?: string;
  /** A language like "de"; or else the form's data-lang, the page's, the browser's. */
  lang?: string;
  /** Where a visitor can ask, until an answer says so; or else data-contact. */
  contact?: string;
  /** The script's own address: the words of other languages lie beside it, in texts/. */
  base?: string;
  /** All the words, instead of fetching them: the content of a file of texts/. */
  texts?: Record<string, string>;
  /** The outside world, for tests. */
  world?: Partial<World>;
}

export interface Enhanced {
  /** What is known of the enquiry right now. */
  status(): Status;
  /** Gives the form back to the page. What is under way goes on at the next visit. */
  close(): void;
}

/** Takes over a form, once: the same form gives the same answer. */
export function enhance(form: HTMLFormElement, options?: EnhanceOptions): Enhanced;

declare global {
  interface HTMLElementEventMap {
    /** Dispatched on the form whenever the status changes; it bubbles. */
    formledger: CustomEvent<Status>;
  }
}
