import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { EvmNode } from "./evmNode.ts";

/** So long it must have answered alone, in every look; less may be a restart of the other, or a line that comes back. */
const ALONE_MS = 60_000;
/** The same where the other has not answered since this node began: it may have been away for days, and a coin must be enabled. */
const ALONE_AT_START_MS = 5_000;
/** And in so many looks: a machine that slept in between has looked at nothing for hours. */
const LEAST_LOOKS = { started: 4, starting: 2 } as const;

const isLong = (aloneMs: number, looks: number): boolean => aloneMs >= ALONE_MS && looks >= LEAST_LOOKS.started;

/**
 * Of two nodes the one that is left, once the other is gone. What counts is that it answered while the other did not, look after look: that
 * the other has failed for long says nothing where the line of this node was down, and both come back, the one that lies first.
 */
export class LoneNode {
  readonly #nodes: readonly EvmNode[];
  readonly #clock: Clock;
  readonly #log: Pick<Log, "warn">;
  #alone: { readonly node: EvmNode; readonly sinceMs: number; looks: number } | null = null;
  #believed: EvmNode | null = null;
  /** It was alone for as long as it takes while this node runs. */
  #isSure = false;

  constructor(nodes: readonly EvmNode[], clock: Clock, log: Pick<Log, "warn">) {
    this.#nodes = nodes;
    this.#clock = clock;
    this.#log = log;
  }

  /** Who is believed without the other; null: both must agree, or there are not two. */
  get believed(): EvmNode | null {
    return this.#believed;
  }

  /** Whether it is believed only because nobody was there to be asked at the start: others may be about to answer. */
  get isHasty(): boolean {
    return this.#believed !== null && !this.#isSure;
  }

  /** A look that asked both is over: who answered it. Once one is believed its own failures change nothing: the other is gone all the same. */
  noteLook(arrived: readonly EvmNode[]): void {
    if (this.#nodes.length !== 2) return;
    const [node] = arrived;
    const other = this.#nodes.find((n) => n !== node);
    if (arrived.length > 1 || (node && node !== this.#believed)) this.#stop();
    // One that serves another chain is a mistake to be mended, and not gone.
    if (arrived.length !== 1 || !node || other?.state !== "away") {
      this.#alone = null;
      return;
    }
    if (this.#alone?.node !== node) this.#alone = { node, sinceMs: this.#clock.nowMs(), looks: 0 };
    const looks = ++this.#alone.looks;
    const aloneMs = this.#clock.nowMs() - this.#alone.sinceMs;
    const isStarting = other.head === null;
    if (aloneMs < (isStarting ? ALONE_AT_START_MS : ALONE_MS) || looks < LEAST_LOOKS[isStarting ? "starting" : "started"]) return;
    this.#isSure ||= isLong(aloneMs, looks);
    if (this.#believed === null) this.#log.warn("node_alone", { node: node.name, gone: other.name });
    this.#believed = node;
  }

  /** The other one answered. */
  noteBack(): void {
    this.#alone = null;
    this.#stop();
  }

  /** Asked beside the one that is believed, it still did not. */
  noteStillGone(): void {
    if (this.#believed === null) return;
    this.#alone ??= { node: this.#believed, sinceMs: this.#clock.nowMs(), looks: 0 };
    const looks = ++this.#alone.looks;
    this.#isSure ||= isLong(this.#clock.nowMs() - this.#alone.sinceMs, looks);
  }

  #stop(): void {
    this.#believed = null;
    this.#isSure = false;
  }
}
