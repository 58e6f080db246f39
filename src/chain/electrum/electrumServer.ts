import type { Clock } from "../../ports/clock.ts";
import type { ChainDaemon } from "../daemon.ts";
import { ElectrumFaults } from "./electrumFaults.ts";
import { type ElectrumPeer, ElectrumSession } from "./electrumSession.ts";
import { ElectrumView } from "./electrumView.ts";

/** A client's end of a connection without a socket. */
export type ElectrumPipe = {
  /** Bytes to the server, lines of any split. Answers come later, never from inside. */
  readonly write: (bytes: Uint8Array) => void;
  readonly close: () => void;
};

/** Most connections at once. */
const MAX_SESSIONS = 200;

/**
 * A small Electrum server (protocol 1.4 to 1.4.2) over one embedded chain, without its transport. Clients hear of changes once the code that
 * made them has ended, so blocks mined in one go are one notification.
 */
export class ElectrumServer {
  readonly #daemon: ChainDaemon;
  readonly #view: ElectrumView;
  readonly faults: ElectrumFaults;
  readonly #sessions = new Set<ElectrumSession>();
  readonly #unsubscribe: () => void;
  #lookPlanned = false;
  #closed = false;

  constructor(daemon: ChainDaemon, clock: Clock) {
    this.#daemon = daemon;
    this.faults = new ElectrumFaults(clock, () => this.#faultsChanged());
    this.#view = new ElectrumView(daemon.chain, this.faults);
    this.#unsubscribe = daemon.chain.onChange(() => this.#planLook());
  }

  /** Connections open now. */
  get connections(): number {
    return this.#sessions.size;
  }

  /** A new connection; null when there are too many or the server is closed. What it sends goes to `peer` at once. */
  open(peer: ElectrumPeer): ElectrumSession | null {
    if (this.#closed || this.#sessions.size >= MAX_SESSIONS || this.faults.has("refuse")) return null;
    const session = new ElectrumSession(
      { view: this.#view, daemon: this.#daemon, faults: this.faults },
      {
        data: peer.data,
        closed: () => {
          this.#sessions.delete(session);
          peer.closed();
        },
      },
    );
    this.#sessions.add(session);
    return session;
  }

  /** The same for a client in this process: both directions take one turn of the microtask queue, in order. */
  connect(peer: ElectrumPeer): ElectrumPipe | null {
    const later = (task: () => void): void => queueMicrotask(task);
    let told = true;
    const session = this.open({
      data: (bytes) => later(() => told && peer.data(bytes)),
      closed: () => later(() => told && peer.closed()),
    });
    if (!session) return null;
    return {
      write: (bytes) => later(() => session.isClosed || session.receive(bytes)),
      close: () => {
        told = false;
        session.close();
      },
    };
  }

  #faultsChanged(): void {
    if (this.faults.has("refuse")) this.#dropAll();
    this.#planLook();
  }

  #dropAll(): void {
    for (const session of [...this.#sessions]) session.close();
  }

  #planLook(): void {
    if (this.#lookPlanned || this.#closed) return;
    this.#lookPlanned = true;
    queueMicrotask(() => {
      this.#lookPlanned = false;
      if (this.faults.has("mute")) return;
      for (const session of this.#sessions) session.notify();
    });
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    this.#dropAll();
    this.faults.clear();
  }
}
