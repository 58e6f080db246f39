/** How long a cancelled order is kept from coming back (reference p2p-wire.md section 9). */
const REMEMBER_MS = 120_000;
/** Cancelled orders remembered at most; the oldest is forgotten first. */
const MAX_REMEMBERED = 20_000;

/** Orders their own maker has cancelled of late, so that a message or answer that comes late does not bring them back. */
export class CancelMemory {
  /** `pubkey uuid` → when it may be forgotten, unix ms; oldest first. */
  readonly #until = new Map<string, number>();

  add(pubkey: string, uuid: string, nowMs: number): void {
    const name = `${pubkey} ${uuid}`;
    this.#until.delete(name);
    this.#until.set(name, nowMs + REMEMBER_MS);
    for (const [oldest, until] of this.#until) {
      if (until > nowMs && this.#until.size <= MAX_REMEMBERED) return;
      this.#until.delete(oldest);
    }
  }

  has(pubkey: string, uuid: string, nowMs: number): boolean {
    return (this.#until.get(`${pubkey} ${uuid}`) ?? 0) > nowMs;
  }
}
