// formledger in a page: enhance(form) makes of a form that is posted one that is
// sent by script and tells what is known. Without this script the same form works
// as a plain post. formledger.d.ts says what the options are.

import { enhance as plain } from "./enhance.mjs";

export { connect } from "./core.mjs";

export const enhance = (form, options) => plain(form, { base: import.meta.url, ...options });
