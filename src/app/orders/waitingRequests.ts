import type { TakerRequest } from "../../core/message/types.ts";
import { DEFAULT_TAKER_TIMEOUT_SEC } from "../../core/order/takerOrder.ts";
import type { Clock } from "../../ports/clock.ts";

/** A request is kept this long after it was last heard: as long as a taker's order lives that names no other time. */
const LIFE_MS = DEFAULT_TAKER_TIMEOUT_SEC * 1_000;
/** Requests kept of one key, and of all. */
const MAX_PER_SENDER = 1_000;
const MAX_WAITING = 5_000;
/** Orders or makers a kept request may name: with the bounds above no more than some 10 MB are kept in all. */
const MAX_NAMED = 20;

export type WaitingRequest = { readonly sender: string; readonly request: TakerRequest; readonly heardMs: number };

const keyOf = (sender: string, uuid: string): string => `${sender} ${uuid}`;

/** Requests that fit an own order but cannot be served at the moment, in the order they came. KDF forgets them. */
export class WaitingRequests {
  readonly #clock: Clock;
  readonly #entries = new Map<string, WaitingRequest>();
  readonly #counts = new Map<string, number>();
  #startBehind: string | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** False: no room, or too large to be kept. When all places are taken, whoever has most of them gives up its last. */
  add(sender: string, request: TakerRequest): boolean {
    const { matchBy, uuid } = request;
    const own = this.#counts.get(sender) ?? 0;
    if (own >= MAX_PER_SENDER || (matchBy.type !== "Any" && matchBy.data.length > MAX_NAMED)) return false;
    if (this.#entries.size >= MAX_WAITING) this.#dropOld();
    if (this.#entries.size >= MAX_WAITING && !this.#makeRoom(own)) return false;
    this.#entries.set(keyOf(sender, uuid), { sender, request, heardMs: this.#clock.nowMs() });
    this.#counts.set(sender, own + 1);
    return true;
  }

  /** The taker repeats its request: it keeps its place, and its life begins anew. False: it does not wait. */
  heardAgain(sender: string, uuid: string): boolean {
    const key = keyOf(sender, uuid);
    const entry = this.#entries.get(key);
    if (!entry) return false;
    this.#entries.set(key, { ...entry, heardMs: this.#clock.nowMs() });
    return true;
  }

  drop({ sender, request }: WaitingRequest): void {
    if (!this.#entries.delete(keyOf(sender, request.uuid))) return;
    const left = (this.#counts.get(sender) ?? 0) - 1;
    if (left > 0) this.#counts.set(sender, left);
    else this.#counts.delete(sender);
  }

  /** Those whose time is not over; where the last round broke off, it goes on from there. */
  inOrder(): readonly WaitingRequest[] {
    this.#dropOld();
    const all = [...this.#entries.values()];
    const at = all.findIndex(({ sender, request }) => keyOf(sender, request.uuid) === this.#startBehind);
    this.#startBehind = null;
    return [...all.slice(at + 1), ...all.slice(0, at + 1)];
  }

  /** A round that ends here is taken up behind this request. */
  breakOffAt({ sender, request }: WaitingRequest): void {
    this.#startBehind = keyOf(sender, request.uuid);
  }

  #dropOld(): void {
    const nowMs = this.#clock.nowMs();
    for (const entry of this.#entries.values()) if (nowMs - entry.heardMs > LIFE_MS) this.drop(entry);
  }

  #makeRoom(own: number): boolean {
    const [most, count] = [...this.#counts].reduce((a, b) => (b[1] > a[1] ? b : a), ["", 0]);
    if (count <= own + 1) return false;
    const last = [...this.#entries.values()].findLast(({ sender }) => sender === most);
    if (last) this.drop(last);
    return true;
  }
}
