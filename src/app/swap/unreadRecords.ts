import { dropOldest } from "../../core/util/dropOldest.ts";
import { reasonOf } from "../../core/util/reasonOf.ts";
import type { Log } from "../../ports/log.ts";

/** Records remembered as told of. */
const MAX_TOLD = 200;

/** Swaps whose record cannot be read: each is told of once, and left as it is, for nobody but the operator can say what it was. */
export class UnreadRecords {
  readonly #log: Log;
  readonly #told = new Map<string, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  tell(uuid: string, cause: unknown): void {
    const error = reasonOf(cause);
    if (this.#told.get(uuid) === error) return;
    this.#told.set(uuid, error);
    dropOldest(this.#told, MAX_TOLD);
    this.#log.error("swap_not_read", { swap: uuid, error });
  }
}
