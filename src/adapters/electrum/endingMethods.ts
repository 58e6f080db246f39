/** So often in a row the connection ended over a method before it is asked no more. Once may be chance. */
const TWICE = 2;
/** For so long, ms: another program may answer at the same place then. */
const KEPT_MS = 24 * 3_600_000;

/**
 * Methods at which a server closed the connection: some programs do so with what they do not know (electrs of mempool.space, and Blockstream's until it learned
 * `get_mempool`), and would be lost each time it is asked for.
 */
export class EndingMethods {
  readonly #ended = new Map<string, { readonly times: number; readonly atMs: number }>();

  ended(method: string, nowMs: number): void {
    this.#ended.set(method, { times: (this.#ended.get(method)?.times ?? 0) + 1, atMs: nowMs });
  }

  answered(method: string): void {
    this.#ended.delete(method);
  }

  /** Whether it is not to be asked for now. A clock that was set far back forgets. */
  has(method: string, nowMs: number): boolean {
    const ended = this.#ended.get(method);
    return ended !== undefined && ended.times >= TWICE && Math.abs(nowMs - ended.atMs) < KEPT_MS;
  }
}
