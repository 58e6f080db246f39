import { isSigning, type StoredEvent } from "../../core/swap/events.ts";

/** Which swap signed a transaction. Each payment of a swap asks for many, and to look for one through a thousand open swaps takes as long as all else. */
export class OwnTxs {
  readonly #swaps = new Map<string, string>();

  /** Takes in what these events of a swap's log say was signed. */
  add(uuid: string, events: readonly StoredEvent[]): void {
    for (const { event } of events) if (isSigning(event)) this.#swaps.set(event.txid, uuid);
  }

  /** Lets go of what was signed for a swap by its log. */
  forget(uuid: string, log: readonly StoredEvent[]): void {
    for (const { event } of log) if (isSigning(event) && this.#swaps.get(event.txid) === uuid) this.#swaps.delete(event.txid);
  }

  /** The uuid of the swap that signed a transaction, in whatever version; undefined: none that was added. */
  swapOf(txid: string): string | undefined {
    return this.#swaps.get(txid);
  }
}
