/** What one server may make this node hold, bytes: a hundred of the largest transactions that are relayed, as hex (400 kB each, BIP-141). */
const OWN_BYTES = 100_000_000;
/** What all servers of all coins together may. */
const ALL_BYTES = 256_000_000;

/** One server's part: what has come from it and is not used yet. */
export type CreditShare = {
  /** It makes this node hold so many bytes now. */
  hold(bytes: number): void;
  /** It holds nothing any more. */
  leave(): void;
};

/** One that holds, and what ends it when that is too much. */
type Member = { bytes: number; readonly tooMuch: (why: string) => void };

/**
 * What servers make this node hold in memory, unread or unused, all coins together. Each of the answers may be as long as its method
 * allows: a hundred of them from each of hundreds of servers would be gigabytes. Where it is too much, who holds most is let go of,
 * so that nobody else pays for it.
 */
export class ServerCredit {
  readonly #ownBytes: number;
  readonly #allBytes: number;
  readonly #members = new Set<Member>();
  #bytes = 0;

  constructor(ownBytes = OWN_BYTES, allBytes = ALL_BYTES) {
    this.#ownBytes = ownBytes;
    this.#allBytes = allBytes;
  }

  /** What one server may send at once, bytes. */
  get ownBytes(): number {
    return this.#ownBytes;
  }

  /** What all of them hold together, bytes. */
  get heldBytes(): number {
    return this.#bytes;
  }

  /** @param tooMuch told the end of a sentence when it must hold nothing any more; it leaves then */
  join(tooMuch: (why: string) => void): CreditShare {
    const member: Member = { bytes: 0, tooMuch };
    this.#members.add(member);
    return {
      hold: (bytes) => this.#hold(member, bytes),
      leave: () => {
        if (!this.#members.delete(member)) return;
        this.#bytes -= member.bytes;
        member.bytes = 0;
      },
    };
  }

  #hold(member: Member, bytes: number): void {
    if (!this.#members.has(member)) return;
    this.#bytes += bytes - member.bytes;
    member.bytes = bytes;
    if (bytes > this.#ownBytes) this.#letGo(member, `it sends more than ${megabytes(this.#ownBytes)} at once`);
    else if (this.#bytes > this.#allBytes) {
      const most = [...this.#members].reduce((a, b) => (b.bytes > a.bytes ? b : a));
      this.#letGo(most, `it holds most of the ${megabytes(this.#allBytes)} that all servers together may send at once`);
    }
  }

  #letGo(member: Member, why: string): void {
    this.#members.delete(member);
    this.#bytes -= member.bytes;
    member.bytes = 0;
    member.tooMuch(why);
  }
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1_000_000)} MB`;
