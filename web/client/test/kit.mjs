// What the tests of the core share: a stage with its client, and what the stores hold.

import { connect } from "../core.mjs";
import { ACTION, Stage } from "./world.mjs";

export const KEY = "formledger " + ACTION;
export const stage = (changes) => new Stage(connect, changes);
export const record = (s) => JSON.parse(s.session.map.get(KEY));
export const listed = (s) => JSON.parse(s.local.map.get(KEY) ?? "{}");

/** A stage on which Send was pressed and one answer came. */
export async function answered(outcome, more, headers, changes) {
  const s = stage(changes);
  const { promise } = await s.press();
  await s.answer(outcome, more, headers);
  return Object.assign(s, { promise });
}
