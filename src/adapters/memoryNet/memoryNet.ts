import type { Clock } from "../../ports/clock.ts";
import type { PeerId, PeerTransport } from "../../ports/network.ts";
import type { Rng } from "../../ports/rng.ts";
import { type LinkConduct, MemoryLink } from "./memoryLink.ts";
import { MemoryTransport, type MemoryTransportOptions } from "./memoryTransport.ts";

const CLEAN_LINE: LinkConduct = { latencyMs: 10, jitterMs: 0, loss: 0, duplicate: 0, reorder: false, bytesPerSec: undefined };
/** How long a dial into a dead line hangs before it fails. */
const DIAL_TIMEOUT_MS = 5000;

/** A network of function calls on a clock, for the simulator and tests: deterministic, with faults on request. */
export class MemoryNet {
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #listeners = new Map<string, MemoryTransport>();
  readonly #conduct = new Map<string, LinkConduct>();
  readonly #cut = new Set<string>();
  readonly #links = new Set<MemoryLink>();
  #default: LinkConduct;

  constructor(clock: Clock, rng: Rng, conduct: Partial<LinkConduct> = {}) {
    this.#clock = clock;
    this.#rng = rng;
    this.#default = { ...CLEAN_LINE, ...conduct };
  }

  transport(options: MemoryTransportOptions): PeerTransport {
    return new MemoryTransport(this, this.#clock, options);
  }

  /** Changes the line between two peers, now and for later connections. */
  setLink(a: PeerId, b: PeerId, conduct: Partial<LinkConduct>): void {
    this.#conduct.set(pairKey(a, b), { ...this.conduct(a, b), ...conduct });
  }

  /** Changes every line without a setting of its own. */
  setAll(conduct: Partial<LinkConduct>): void {
    this.#default = { ...this.#default, ...conduct };
  }

  /** Ends the connection between two peers and lets no new one come up until `heal`. */
  cut(a: PeerId, b: PeerId): void {
    this.#cut.add(pairKey(a, b));
    this.breakConnection(a, b);
  }

  /** Ends the connection; both may dial again at once. */
  breakConnection(a: PeerId, b: PeerId): void {
    for (const link of [...this.#links]) if (pairKey(...link.ends) === pairKey(a, b)) link.close();
  }

  /** Only peers of the same group reach each other. Peers in no group reach nobody. */
  partition(groups: readonly (readonly PeerId[])[], peers: readonly PeerId[]): void {
    const groupOf = (peer: PeerId): number => groups.findIndex((group) => group.includes(peer));
    for (const a of peers) for (const b of peers) if (a < b && (groupOf(a) < 0 || groupOf(a) !== groupOf(b))) this.cut(a, b);
  }

  /** Ends the cut between two peers. */
  mend(a: PeerId, b: PeerId): void {
    this.#cut.delete(pairKey(a, b));
  }

  /** Ends all cuts. Connections come back when somebody dials. */
  heal(): void {
    this.#cut.clear();
  }

  /** For the transports of this net. */
  conduct(a: PeerId, b: PeerId): LinkConduct {
    return (this.#conduct.size === 0 ? undefined : this.#conduct.get(pairKey(a, b))) ?? this.#default;
  }

  /** For the transports of this net. */
  listen(address: string, transport: MemoryTransport | undefined): void {
    if (transport === undefined) this.#listeners.delete(address);
    else if (this.#listeners.has(address)) throw new Error(`address in use: ${address}`);
    else this.#listeners.set(address, transport);
  }

  /** For the transports of this net: connects after one round trip. */
  async connect(from: MemoryTransport, address: string, signal: AbortSignal): Promise<PeerId> {
    const [host = "", pin] = address.split("/p2p/");
    const to = this.#listeners.get(host);
    if (to === undefined) {
      await this.#wait(this.#default.latencyMs * 2, signal);
      throw new Error(`connection refused: ${host}`);
    }
    if (to === from) throw new Error("cannot dial self");
    const key = pairKey(from.self.id, to.self.id);
    if (this.#cut.has(key)) {
      await this.#wait(DIAL_TIMEOUT_MS, signal);
      throw new Error(`no route: ${host}`);
    }
    await this.#wait(this.conduct(from.self.id, to.self.id).latencyMs * 2, signal);
    if (pin !== undefined && pin !== to.self.id) throw new Error(`peer id ${to.self.id} is not the pinned ${pin}`);
    if (!from.isRunning || !to.isRunning || this.#cut.has(key)) throw new Error(`connection refused: ${host}`);
    if (from.isConnected(to.self.id)) return to.self.id;
    const link: MemoryLink = new MemoryLink({
      clock: this.#clock,
      rng: this.#rng,
      conduct: () => this.conduct(from.self.id, to.self.id),
      dialler: from,
      listener: to,
      onClosed: () => this.#links.delete(link),
    });
    this.#links.add(link);
    // The listening side learns of it first, as with a real handshake, and both in the same moment.
    to.attach(link, { ...from.self, address: `/memory/dialler/p2p/${from.self.id}`, direction: "inbound" });
    from.attach(link, { ...to.self, address: `${host}/p2p/${to.self.id}`, direction: "outbound" });
    return to.self.id;
  }

  #wait(delayMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        cancel();
        reject(new Error("dial aborted"));
      };
      const cancel = this.#clock.after(delayMs, () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      });
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}

function pairKey(a: PeerId, b: PeerId): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}
