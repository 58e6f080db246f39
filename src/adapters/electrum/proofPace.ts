import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import type { RemoteServer } from "./remoteServer.ts";

/**
 * Proofs in one block that a server may refuse before it is asked for no more there, for so long, ms. ElectrumX (1.15) counts a hundred for each, forgives
 * one a second and cuts off at ten thousand; a reorganisation takes hundreds of followed transactions out of a block at once, or dust that others paid.
 */
const MAX_REFUSED = 5;
const REST_MS = 5_000;
/** Blocks, each at one server, of which that is remembered. */
const MAX_KEPT = 1_000;

type Asked = {
  onTheWay: number;
  proven: number;
  refused: number;
  refusedAtMs: number;
  readonly waiting: (() => void)[];
};

/** Asks a server for proofs in one block: for a few at first, for more at once with each that it gives, and for none after some that it refuses. */
export class ProofPace {
  readonly #nowMs: () => number;
  readonly #asked = new Map<string, Asked>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * @param ask true: it was proven, false: it was refused, null: neither
   * @returns whether it was asked for
   */
  async run(server: RemoteServer, header: BlockHeader, ask: () => Promise<boolean | null>): Promise<boolean> {
    const asked = this.#of(`${server.name} ${header.hash}`);
    while (!this.#rests(asked) && asked.onTheWay >= MAX_REFUSED + asked.proven) {
      await new Promise<void>((resolve) => {
        asked.waiting.push(resolve);
      });
    }
    if (this.#rests(asked)) return false;
    asked.onTheWay++;
    try {
      const isProven = await ask();
      if (isProven === true) asked.proven++;
      if (isProven === false) {
        asked.refused++;
        asked.refusedAtMs = this.#nowMs();
      }
    } finally {
      asked.onTheWay--;
      for (const wake of asked.waiting.splice(0)) wake();
    }
    return true;
  }

  #of(key: string): Asked {
    const known = this.#asked.get(key);
    if (known !== undefined) return known;
    if (this.#asked.size >= MAX_KEPT) this.#asked.clear();
    const asked: Asked = { onTheWay: 0, proven: 0, refused: 0, refusedAtMs: 0, waiting: [] };
    this.#asked.set(key, asked);
    return asked;
  }

  /**
   * Fewer refusals are not forgiven, however long ago: whoever refuses one now and then would keep all others waiting behind the few that are on the
   * way. A clock that was set back ends the rest.
   */
  #rests(asked: Asked): boolean {
    const passedMs = this.#nowMs() - asked.refusedAtMs;
    if (asked.refused >= MAX_REFUSED && (passedMs < 0 || passedMs >= REST_MS)) asked.refused = 0;
    return asked.refused >= MAX_REFUSED;
  }
}
