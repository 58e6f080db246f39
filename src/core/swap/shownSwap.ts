import { ZERO_KEY_32 } from "./kdfStatus.ts";

/** A swap status in the shape of reference rpc.md 7.1. */
export type SwapStatus = { readonly [key: string]: unknown };

/** What a status says beside what is stored of a swap. In a status of ours they stand together, in this order. */
export const WORKED_OUT: readonly string[] = ["my_info", "recoverable", "is_finished", "is_success"];
const FIRST_WORKED_OUT = ',"my_info":';
const BEHIND_WORKED_OUT = ',"swapnode":{';
/** How the text of a status of ours begins; both are of one length. */
const HEADS: readonly string[] = ['{"type":"Maker",', '{"type":"Taker",'];
const HEAD_CHARS = 16;

/**
 * A status as it may leave the node: `secret` and `p2p_privkey` of the first event are blanked whatever the source did (reference rpc.md
 * 7.1 and 12). A class, because nothing but its two makers can then be one: what is typed like this holds no secret, and lists of swaps
 * put its text into replies as it is.
 */
export class ShownSwap {
  readonly #status: SwapStatus | null;
  readonly #text: string | null;
  /** Of a status that is no text: what was written of it. */
  #written: string | null = null;

  private constructor(status: SwapStatus | null, text: string | null) {
    this.#status = status;
    this.#text = text;
  }

  static of(status: SwapStatus): ShownSwap {
    return new ShownSwap(hideSecrets(status), null);
  }

  /**
   * From a text that was kept. Null for what is not the text of a status of ours of this swap, and for one in which a secret is not
   * blanked: `of` made it, but it has been elsewhere since.
   */
  static ofKept(uuid: string, text: string): ShownSwap | null {
    const isOurs = HEADS.some((head) => text.startsWith(`${head}"uuid":"${uuid}",`)) && text.lastIndexOf(FIRST_WORKED_OUT) > HEAD_CHARS;
    return isOurs && text.lastIndexOf(BEHIND_WORKED_OUT) > text.lastIndexOf(FIRST_WORKED_OUT) && isBlanked(text)
      ? new ShownSwap(null, text)
      : null;
  }

  /** The text to keep; null for a status `ofKept` would not give back as it is, such as one KDF stored. */
  toKept(uuid: string): string | null {
    const { text } = this;
    const kept = ShownSwap.ofKept(uuid, text);
    return kept !== null && kept.bareText === this.bareText ? text : null;
  }

  get status(): SwapStatus {
    // Our own text, as it was written.
    return this.#status ?? (JSON.parse(this.text) as SwapStatus);
  }

  /** JSON of the status. */
  get text(): string {
    this.#written ??= this.#text ?? JSON.stringify(this.#status);
    return this.#written;
  }

  /** The status without `type` and without what is worked out. */
  get bare(): SwapStatus {
    return without(this.status, ["type", ...WORKED_OUT]);
  }

  /** JSON of `bare`. */
  get bareText(): string {
    if (this.#text === null) return JSON.stringify(this.bare);
    const kept = this.#text.slice(HEAD_CHARS, this.#text.lastIndexOf(FIRST_WORKED_OUT));
    return `{${kept}${this.#text.slice(this.#text.lastIndexOf(BEHIND_WORKED_OUT))}`;
  }

  get isMaker(): boolean {
    return this.#text === null ? this.#status?.type === "Maker" : this.#text.startsWith(HEADS[0] ?? "");
  }
}

export const without = (status: SwapStatus, keys: readonly string[]): { [key: string]: unknown } =>
  Object.fromEntries(Object.entries(status).filter(([key]) => !keys.includes(key)));

type KdfEvent = { readonly type?: unknown; readonly data?: unknown };
const isRecord = (value: unknown): value is object => typeof value === "object" && value !== null;

function hideSecrets(status: SwapStatus): SwapStatus {
  return withEvents(status, (event) => {
    const { type, data } = event;
    if (type !== "Started" || !isRecord(data)) return event;
    return { ...event, data: { ...data, ...("secret" in data ? { secret: ZERO_KEY_32 } : {}), p2p_privkey: null } };
  });
}

/** The status with each of its events changed. */
export function withEvents(status: SwapStatus, change: (event: KdfEvent) => KdfEvent): SwapStatus {
  if (!Array.isArray(status.events)) return status;
  const events = status.events.map((timed: { readonly event?: KdfEvent }) =>
    timed.event ? { ...timed, event: change(timed.event) } : timed,
  );
  return { ...status, events };
}

/** A field that gives money away, and whatever else ends in its name. */
const GUARDED = /(secret|p2p_privkey)":/g;
const BLANK_SECRET = `"${ZERO_KEY_32}"`;
const BLANK_KEY = "null";
const TYPE = '"type":"';
/** The event that shows the taker the secret it learned: it is on the chain then. */
const LEARNED = 'TakerPaymentSpent","data":{"transaction":{';

/**
 * Whether no secret is left in a text. In what `JSON.stringify` wrote, a name, a quote and a colon are a field and nothing else: the
 * quotes of a text are escaped.
 */
function isBlanked(text: string): boolean {
  for (const { 0: found, 1: field, index } of text.matchAll(GUARDED)) {
    const isSecret = field === "secret";
    if (text.startsWith(isSecret ? BLANK_SECRET : BLANK_KEY, index + found.length)) continue;
    const type = text.lastIndexOf(TYPE, index);
    if (!isSecret || !text.startsWith(LEARNED, type + TYPE.length) || text.lastIndexOf('"event":', index) > type) return false;
  }
  return true;
}
