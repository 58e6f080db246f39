import type { Role, SwapEvent } from "../../src/core/swap/events.ts";

/** What the maker gives and what the taker gives: a coin of scripts, the coin of an account chain, a token on one. */
export const PAIRS = ["UTXO/UTXO", "UTXO/ETH", "ETH/UTXO", "UTXO/TOKEN", "TOKEN/UTXO", "ETH/TOKEN", "TOKEN/ETH"] as const;
/** Ways a swap can go without any crash; each meets events of its own. */
export const ROADS = ["straight", "refund", "late", "cancel", "alone"] as const;
/** Where the process dies around the event. `recovery`: after it was stored, and twice more while it recovers. */
export const CRASHES = ["before_persist", "after_persist", "after_broadcast", "recovery"] as const;
export const RESTARTS = ["at_once", "after_deadline", "after_lock"] as const;
export const PEERS = ["honest", "silent", "malicious"] as const;
export const CHAINS = ["calm", "congested", "reorganising"] as const;
export const MOVES = ["late", "double_spend", "wrong"] as const;

export type Pair = (typeof PAIRS)[number];
export type Road = (typeof ROADS)[number];
export type Crash = (typeof CRASHES)[number];
export type Restart = (typeof RESTARTS)[number];
export type Peer = (typeof PEERS)[number];
export type Chain = (typeof CHAINS)[number];
/** What a malicious peer does from the crash on. */
export type Move = (typeof MOVES)[number];

/** The world up to the crash. */
export type Column = { readonly pair: Pair; readonly role: Role; readonly road: Road; readonly chain: Chain };
/** One cell of the matrix; `move` only where the peer is malicious. */
export type Cell = Column & {
  /** Key of the event, see `eventKey`. */
  readonly event: string;
  readonly crash: Crash;
  readonly restart: Restart;
  readonly peer: Peer;
  readonly move: Move | null;
};

/** `type:slot#n`, n counting from 1 within a swap. */
export class EventKeys {
  readonly #seen = new Map<string, number>();

  next(e: SwapEvent): string {
    const name = "slot" in e ? `${e.type}:${e.slot}` : e.type;
    const n = (this.#seen.get(name) ?? 0) + 1;
    this.#seen.set(name, n);
    return n === 1 ? name : `${name}#${n}`;
  }
}

const FIELDS = ["pair", "role", "road", "event", "crash", "restart", "peer", "move", "chain"] as const;
type Field = (typeof FIELDS)[number];

/** The filter that selects exactly this cell. */
export const cellText = (cell: Cell): string => FIELDS.flatMap((f) => (cell[f] === null ? [] : [`${f}=${cell[f]}`])).join(",");

/** `field=value,…`; several values of a field are separated by `|`. Throws on an unknown field. @param only fields that count */
export function parseFilter(text: string, only: readonly Field[] = FIELDS): (cell: { readonly [F in Field]?: string | null }) => boolean {
  const wanted = text
    .split(",")
    .filter((part) => part !== "")
    .map((part): readonly [Field, readonly string[]] => {
      const [name, value = ""] = part.split("=");
      const field = FIELDS.find((f) => f === name);
      if (!field) throw new Error(`no field ${name}; there are ${FIELDS.join(", ")}`);
      return [field, value.split("|")];
    })
    .filter(([field]) => only.includes(field));
  return (cell) => wanted.every(([field, values]) => values.includes(cell[field] ?? ""));
}
