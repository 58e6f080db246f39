import type { HeaderRules } from "../../core/proof/headerRules.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ElectrumEndpoint, ServerNeeds } from "../../ports/electrum.ts";
import type { Log } from "../../ports/log.ts";
import type { ServerChoice } from "./electrumDeps.ts";
import { RemoteServer, type RemoteServerDeps } from "./remoteServer.ts";
import type { ServerCredit } from "./serverCredit.ts";
import { serverNeeds } from "./serverNeeds.ts";
import type { Visitable } from "./serverVisits.ts";
import { visitLog } from "./visitLog.ts";

const USUAL_MAX_CONNECTED = 5;

export type ChosenServersDeps = {
  readonly ticker: string;
  readonly rules: HeaderRules;
  readonly clock: Clock;
  readonly log: Log;
  /** Deadline of a call at servers that name none, ms. */
  readonly timeoutMs: number;
  readonly credit: ServerCredit;
  readonly closed: AbortSignal;
  /** Hash of the chain's first block, as far as it is known. */
  readonly genesis: () => string | null;
  /** A server came, went or told of something. */
  readonly onNews: () => void;
};

/** The servers that the coin is to use now, and how many of them: what `ServerChoice` says, with what is usual filled in. */
export class ChosenServers {
  readonly #deps: ChosenServersDeps;
  #visitable: readonly Visitable[] = [];
  #servers: readonly RemoteServer[] = [];
  #voters = 0;
  #maxConnected = 0;
  #needs: ServerNeeds = { minConnected: 1, warning: null };

  constructor(deps: ChosenServersDeps, choice: ServerChoice) {
    this.#deps = deps;
    this.#take(choice);
  }

  /** In the order given, each with a way to visit it. */
  get visitable(): readonly Visitable[] {
    return this.#visitable;
  }

  get servers(): readonly RemoteServer[] {
    return this.#servers;
  }

  /** Those that are independent of each other. */
  get voters(): number {
    return this.#voters;
  }

  get maxConnected(): number {
    return this.#maxConnected;
  }

  get needs(): ServerNeeds {
    return this.#needs;
  }

  /** @returns the servers used until now, connected as they were: the caller lets them go */
  exchange(choice: ServerChoice): readonly RemoteServer[] {
    const before = this.#servers;
    this.#take(choice);
    this.#deps.log.info("servers_exchanged", { servers: this.#voters });
    return before;
  }

  #take(choice: ServerChoice): void {
    const { ticker, log } = this.#deps;
    const before = this.#servers;
    this.#visitable = choice.servers.map((endpoint) => this.#visitableOf(endpoint, before));
    this.#servers = this.#visitable.map(({ pooled }) => pooled);
    this.#voters = new Set(this.#servers.map(({ voter }) => voter)).size;
    this.#maxConnected = Math.min(this.#voters, choice.maxConnected ?? Math.max(USUAL_MAX_CONNECTED, choice.minConnected ?? 1));
    this.#needs = serverNeeds(ticker, this.#voters, this.#maxConnected, choice.minConnected);
    const { minConnected, warning } = this.#needs;
    if (warning !== null) log.warn("few_servers", { servers: this.#voters, minConnected, warning });
  }

  /** @param before those in whose place it comes: a voice that was connected has been heard under its new name, too */
  #visitableOf(endpoint: ElectrumEndpoint, before: readonly RemoteServer[]): Visitable {
    const { log, onNews, genesis, rules } = this.#deps;
    // Most of the connected may have made up what the chain begins with. Whoever is visited chooses no chain, and what it shows proves itself.
    const anyGenesis = (told: string): string => rules.firstBlock ?? told;
    const voter = endpoint.voter ?? endpoint.name;
    const wasConnectedMs = Math.max(...before.flatMap((s) => (s.voter === voter ? s.connectedMs : [])));
    return {
      pooled: this.#remote(endpoint, { log, onNews, wasConnectedMs, genesis }),
      visitor: () =>
        this.#remote(endpoint, {
          log: visitLog(log.child({ visit: true })),
          onNews: () => undefined,
          wasConnectedMs: Number.NEGATIVE_INFINITY,
          genesis: anyGenesis,
        }),
    };
  }

  #remote(endpoint: ElectrumEndpoint, own: Pick<RemoteServerDeps, "log" | "onNews" | "wasConnectedMs" | "genesis">): RemoteServer {
    const { rules, clock, timeoutMs, closed, credit } = this.#deps;
    return new RemoteServer({ endpoint, rules, clock, timeoutMs: endpoint.timeoutMs ?? timeoutMs, closed, credit, ...own });
  }
}
