import { Aborted, type Clock } from "../../ports/clock.ts";
import type { ServerHealth } from "../../ports/electrum.ts";
import type { RemoteServer } from "./remoteServer.ts";

export type ServerPoolDeps = {
  readonly servers: readonly RemoteServer[];
  readonly clock: Clock;
  readonly minConnected: number;
  readonly maxConnected: number;
  readonly closed: AbortSignal;
  /** The wanted servers are there, or as many as come soon. */
  readonly onGathered: () => void;
};

/** How long a look waits for servers that are still connecting while others are there, ms. */
const GATHER_MS = 3_000;
/**
 * How long a server that is connecting holds its place, ms; then others are tried beside it, and who comes first stays. An activation has 20 s, and a
 * server that takes a connection and says nothing has ten: two of those would keep all others from being tried.
 */
const PLACE_MS = 2_000;

/** So many quick servers are enough to leave out the slow ones, if they are most of the connected. */
const ENOUGH_QUICK = 2;
/** How long the slow ones are waited for after the quick ones did not agree, ms. */
const WIDE_MS = 300_000;

/** More than half. */
export const majorityOf = (count: number): number => Math.floor(count / 2) + 1;
/** How many must say that something unproven is there: two, or the only one. */
export const witnessesOf = (count: number): number => (count > 1 ? 2 : 1);

/** Keeps as many servers connected as are wanted, the better ones first. */
export class ServerPool {
  readonly #deps: ServerPoolDeps;
  readonly #connecting = new Map<RemoteServer, { readonly sinceMs: number; readonly cancel: () => void }>();
  /** Of these, those that hold no place any more. */
  readonly #late = new Set<RemoteServer>();
  #cancelWake: () => void = () => undefined;
  #wideUntilMs = 0;

  constructor(deps: ServerPoolDeps) {
    this.#deps = deps;
  }

  health(): readonly ServerHealth[] {
    return this.#deps.servers.map((s) => s.health());
  }

  /**
   * Those that are asked, the best first: all that are connected, without the slow ones while there are two others, these are most
   * and as many as are needed, and they agree.
   */
  present(): readonly RemoteServer[] {
    const connected = this.connected();
    const quick = connected.filter((s) => !s.isSlow);
    const isWide = this.#deps.clock.nowMs() < this.#wideUntilMs;
    const enough = Math.max(ENOUGH_QUICK, majorityOf(connected.length), this.minConnected);
    return !isWide && quick.length >= enough ? quick : connected;
  }

  /** Those asked do not agree: the slow ones have to be heard as well for some time. */
  widen(): void {
    this.#wideUntilMs = this.#deps.clock.nowMs() + WIDE_MS;
  }

  /** All that are connected, the best first. */
  connected(): readonly RemoteServer[] {
    return this.#deps.servers.filter((s) => s.state === "connected").sort((a, b) => a.cost - b.cost);
  }

  get minConnected(): number {
    return this.#deps.minConnected;
  }

  /** What is wrong with those that are not there. */
  troubles(): readonly string[] {
    return this.#deps.servers.flatMap((s) => (s.state !== "connected" && s.trouble !== null ? [`${s.name}: ${s.trouble}`] : []));
  }

  /** Whether a look may begin: nobody is connecting who is worth waiting for. */
  get isGathered(): boolean {
    const enough = this.present().length >= this.#deps.minConnected;
    const patientUntilMs = this.#deps.clock.nowMs() - GATHER_MS;
    return [...this.#connecting.values()].every(({ sinceMs }) => enough && sinceMs <= patientUntilMs);
  }

  /** Connects who is missing. Called after every change; cheap. */
  tend(): void {
    const { servers, minConnected, maxConnected, closed, clock, onGathered } = this.#deps;
    if (closed.aborted) return;
    const holders = this.#holders();
    const isNeeded = holders.length < minConnected;
    const rests = servers.flatMap((server) => {
      const untilMs = server.restUntilMs(isNeeded);
      return untilMs === null ? [] : [{ server, untilMs }];
    });
    const nowMs = clock.nowMs();
    const rested = rests.filter(({ untilMs }) => untilMs <= nowMs).sort((a, b) => a.server.cost - b.server.cost);
    const voices = new Set(holders.map(({ voter }) => voter));
    const isNew = ({ voter }: RemoteServer): boolean => !this.#isSilenced(voter, isNeeded) && voices.size < voices.add(voter).size;
    const chosen = rested.flatMap(({ server }) => (isNew(server) ? [server] : [])).slice(0, Math.max(0, maxConnected - holders.length));
    for (const server of chosen) this.#connect(server);
    this.#cancelWake();
    const later = rests.map(({ untilMs }) => untilMs).filter((untilMs) => untilMs > nowMs);
    if (holders.length + chosen.length >= maxConnected || later.length === 0) return;
    const nextMs = Math.min(...later);
    this.#cancelWake = clock.after(nextMs - nowMs, () => {
      this.tend();
      onGathered();
    });
  }

  /** Those that are connected, or were begun to be so lately. */
  #holders(): readonly RemoteServer[] {
    return this.#deps.servers.filter((s) => s.restUntilMs(false) === null && !this.#late.has(s));
  }

  /** Whether a voter was found to lie lately: who lies at one port does not come back at another. */
  #isSilenced(voter: string, isNeeded: boolean): boolean {
    const nowMs = this.#deps.clock.nowMs();
    return this.#deps.servers.some((s) => s.voter === voter && s.state === "dropped" && (s.restUntilMs(isNeeded) ?? nowMs) > nowMs);
  }

  /** Whether there is room for one that has greeted: others may have taken its place, or speak for its host or have lied for it meanwhile. */
  #isWanted(server: RemoteServer): boolean {
    const { minConnected, maxConnected } = this.#deps;
    const connected = this.connected();
    const isNeeded = this.#holders().filter((s) => s !== server).length < minConnected;
    const { voter } = server;
    return connected.length < maxConnected && connected.every((s) => s.voter !== voter) && !this.#isSilenced(voter, isNeeded);
  }

  #connect(server: RemoteServer): void {
    const { clock, onGathered, closed } = this.#deps;
    const timers = [clock.after(PLACE_MS, () => this.#outwaited(server)), clock.after(GATHER_MS, onGathered)];
    const cancel = (): void => {
      for (const stop of timers) stop();
    };
    this.#connecting.set(server, { sinceMs: clock.nowMs(), cancel });
    server
      .connect(() => this.#isWanted(server))
      .then(
        () => this.#connected(server),
        (cause: unknown) => {
          this.#settled(server);
          if (!(cause instanceof Aborted) || !closed.aborted) throw cause;
        },
      );
  }

  #outwaited(server: RemoteServer): void {
    this.#late.add(server);
    this.tend();
  }

  #settled(server: RemoteServer): void {
    this.#connecting.get(server)?.cancel();
    this.#connecting.delete(server);
    this.#late.delete(server);
  }

  #connected(server: RemoteServer): void {
    this.#settled(server);
    this.tend();
    this.#deps.onGathered();
  }

  /** Others are wanted from now on: these are let go of. */
  letGo(servers: readonly RemoteServer[]): void {
    for (const server of servers) {
      this.#settled(server);
      server.release();
    }
  }

  close(): void {
    this.#cancelWake();
    this.letGo([...this.#connecting.keys(), ...this.#deps.servers]);
  }
}
