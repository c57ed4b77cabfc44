// What the headless core does; core.mjs is the code.

/** The states of one enquiry. `unreached` is the browser's own: no answer came. */
export type State =
  | "draft" | "sending" | "accepted" | "queued" | "uncertain" | "conflict"
  | "not_sent" | "invalid" | "unreached" | "limited" | "challenge" | "refused";

/** What is known of the enquiry right now. Never changed in place. */
export interface Status {
  state: State;
  /** The submission ID; "" before the first press of Send. */
  id: string;
  /** Its short form for people, like 7K3M-Q9PX-2DHT; computed here. */
  reference: string;
  /** How many posts were made since Send was pressed. Looking at the receipt is none. */
  attempts: number;
  /** When the next try is due, in ms since 1970; 0: none is. */
  next: number;
  /** True once the six attempts are over and it only tries now and then. */
  quiet: boolean;
  /** The last answer that counts, as the server gave it; null if none. */
  answer: Answer | null;
  /** Whether the answer tells that a fresh ID cannot make a duplicate. */
  safeNewID: boolean;
}

/** The members of a server's answer that the client reads. */
export interface Answer {
  outcome?: string;
  id?: string;
  reference?: string;
  title?: string;
  detail?: string;
  receipt?: string;
  contact?: string;
  retryable?: boolean;
  safe_new_id?: boolean;
  errors?: { field: string; code: string; message: string }[];
}

/** Name and value pairs in order, as FormData gives them; a name may repeat. */
export type Fields = [string, string][];

/** Everything of the outside world, so that tests can hold it. */
export interface World {
  fetch: typeof fetch;
  now(): number;                              // ms since 1970
  random(): number;                           // 0 ≤ x < 1
  bytes(n: number): Uint8Array;               // from getRandomValues
  wait(ms: number, call: () => void): unknown; // setTimeout
  cancel(timer: unknown): void;
  /** This tab's own store; words may stand here. May be absent or throw. */
  session: Pick<Storage, "getItem" | "setItem" | "removeItem"> | null;
  /** What all tabs share: IDs and states, never words. May be absent or throw. */
  local: Pick<Storage, "getItem" | "setItem" | "removeItem"> | null;
  /** Calls back when the network may be there again. */
  online(call: () => void): void;
}

export interface Options {
  /** The form's address, like https://forms.example.com/f/contact. */
  action: string;
  /** Language of the server's sentences, like "de"; sent as `_lang`. */
  lang?: string;
  world?: Partial<World>;
}

export interface Client {
  /** Sends the fields, or goes on with what is under way. Resolves when the state
   *  is not `sending` any more; `unreached` goes on by itself. A `submission_id`
   *  among the fields, which the server put into its page, is used for the first
   *  enquiry of the tab: it may have been posted already, before the script was there. */
  submit(fields: Fields): Promise<Status>;
  /** Goes on with what an earlier page of this tab had begun. Resolves like submit. */
  resume(): Promise<Status>;
  status(): Status;
  /** The visitor says that the fields are a new message: the next submit has a
   *  fresh ID. Only when accepted or queued, after a conflict, or where safeNewID is
   *  true; else it does nothing. */
  renew(): void;
  /** Keeps the draft's words in this tab; null forgets them. Words that were just
   *  accepted are not kept again. */
  keep(fields: Fields | null): void;
  /** The draft that this tab kept, or the words of what is under way; or null. */
  kept(): Fields | null;
  /** Looks again right now, as after `online` or a page that was brought back. */
  look(): void;
  /** Calls back after every change of the status, not within it; returns how to stop that. */
  on(call: (status: Status) => void): () => void;
  /** Ends all timers and callbacks. */
  close(): void;
}

export function connect(options: Options): Client;
export function referenceOf(id: string): string;
/** Takes ms since 1970, and 16 random bytes, of which time replaces the first six. */
export function uuid7(now: number, bytes: Uint8Array): string;
export function sha256(bytes: Uint8Array): Uint8Array;
