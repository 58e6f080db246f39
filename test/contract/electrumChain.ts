import { openElectrumChain } from "../../src/adapters/electrum/electrumChain.ts";
import type { ElectrumChain, ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import type { ServerCredit } from "../../src/adapters/electrum/serverCredit.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { coinEntryToChainParams } from "../../src/chain/chainParams.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import type { HeaderRules } from "../../src/core/proof/headerRules.ts";
import { err, ok } from "../../src/core/util/result.ts";
import type { ChainStore } from "../../src/ports/chainStore.ts";
import type { ElectrumEndpoint } from "../../src/ports/electrum.ts";
import type { Log } from "../../src/ports/log.ts";
import { EASY_RULES } from "../fakes/mineHeaders.ts";
import { quietLog } from "../fakes/quietLog.ts";
import type { ContractChain } from "./contractChain.ts";
import { steer } from "./embeddedChain.ts";

/** Reaches a server of this process. `twist`: changes a line on its way from the server; null keeps it away. */
export function inProcess(name: string, server: () => ElectrumServer, hooks: LineHooks = {}, voter = name): ElectrumEndpoint {
  return {
    name,
    voter,
    open: async (handlers) => {
      let rest = "";
      const pipe = server().connect({
        data(bytes) {
          if (!hooks.answer) {
            handlers.onBytes(bytes);
            return;
          }
          const lines = (rest + Buffer.from(bytes).toString("utf8")).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) {
            const said = hooks.answer(line);
            if (said !== null) handlers.onBytes(Buffer.from(`${said}\n`, "utf8"));
          }
        },
        closed: () => handlers.onClose("it closed the connection"),
      });
      if (pipe === null) return err({ why: "nothing listens there" });
      return ok({
        send(line) {
          hooks.asked?.(line);
          pipe.write(Buffer.from(`${line}\n`, "utf8"));
          return true;
        },
        close: () => pipe.close(),
      });
    },
  };
}
/** The method of a call; that of a transaction with its details is no reading of it. */
function calledBy(line: string): string {
  const { method, params } = JSON.parse(line) as { method: string; params: unknown[] };
  return params[1] === true ? `${method} with details` : method;
}

const idOf = (line: string): string => /"id":(\d+)/.exec(line)?.[1] ?? "";

export type LineHooks = { readonly asked?: (line: string) => void; readonly answer?: (line: string) => string | null };

export type ElectrumWorld = ContractChain & {
  readonly clock: VirtualClock;
  readonly chain: EmbeddedChain;
  readonly daemon: ChainDaemon;
  readonly servers: readonly ElectrumServer[];
  /** Adds to the true time on the node's clock. */
  skewMs: number;
  /** Methods called at any server. */
  readonly asked: string[];
  /** The same of one server. */
  readonly askedOf: (server: number) => string[];
  /** By server: whose word it is; none: each its own. */
  readonly voters: (string | undefined)[];
  /** Of the coins file. */
  checkpoint: HeaderRules["checkpoint"];
  /** What this node knows by itself. */
  firstBlock: HeaderRules["firstBlock"];
  tellsHeights: boolean;
  target: HeaderRules["target"];
  /** Another server answers at an address. */
  replace(at: number, server: ElectrumServer): void;
  openElectrum(store: ChainStore, options?: ElectrumOptions, log?: Log, credit?: ServerCredit): Promise<ElectrumChain>;
};

/**
 * The embedded chain with Electrum servers over it, on a virtual clock. The troubles of the contract hit all of them.
 * @param spoil changes a line a server says; null: it is not said. `call`: the line it answers, empty where it answers none
 */
export async function startElectrumChain(
  coin: object,
  count: number,
  spoil: (line: string, server: number, call: string) => string | null = (line) => line,
): Promise<ElectrumWorld> {
  const params = coinEntryToChainParams(coin);
  if (!params.ok) throw new Error(params.error.detail);
  const clock = new VirtualClock();
  const chain = new EmbeddedChain({ params: params.value, clock, rng: seededRng(1) });
  const daemon = new ChainDaemon(chain, clock);
  const servers = Array.from({ length: count }, () => new ElectrumServer(daemon, clock));
  const steered = steer(chain);
  const asked: string[] = [];
  const each = servers.map((): string[] => []);
  const askedOf = (server: number): string[] => each[server] ?? [];
  const replaced = new Map<number, ElectrumServer>();
  let lies = false;
  const hooks = (server: number): LineHooks => {
    // By the id each call of the connection has.
    const calls = new Map<string, string>();
    return {
      asked: (line) => {
        asked.push(calledBy(line));
        askedOf(server).push(calledBy(line));
        calls.set(idOf(line), line);
      },
      answer: (line) =>
        lies && line.includes('"hex"')
          ? line.replace(/"height":\d+/, '"height":77777777')
          : spoil(line, server, calls.get(idOf(line)) ?? ""),
    };
  };
  const world: ElectrumWorld = {
    ...steered,
    clock,
    chain,
    daemon,
    servers,
    skewMs: 0,
    asked,
    askedOf,
    voters: [],
    checkpoint: null,
    firstBlock: null,
    tellsHeights: false,
    target: null,
    pollMs: 1_000,
    pass: async (ms) => void (await clock.advance(ms)),
    replace: (at, server) => void replaced.set(at, server),
    openElectrum(store, options = {}, log = quietLog, credit) {
      const { checkpoint, firstBlock, tellsHeights, target } = world;
      return openElectrumChain({
        ticker: "TST",
        format: steered.format,
        headerRules: { ...EASY_RULES, checkpoint, firstBlock, tellsHeights, target },
        servers: servers.map((server, i) => inProcess(`server${i}`, () => replaced.get(i) ?? server, hooks(i), world.voters[i])),
        store,
        clock: { nowMs: () => clock.nowMs() + world.skewMs, after: (ms, task) => clock.after(ms, task) },
        log,
        ...(credit ? { credit } : {}),
        options: { pollMs: 1_000, ...options },
      });
    },
    open: (store, { timeoutMs }) => world.openElectrum(store, timeoutMs === undefined ? {} : { timeoutMs }),
    down: {
      set: (on) => servers.forEach(({ faults }) => void (on ? faults.add({ kind: "refuse" }) : faults.clear())),
      says: "No Electrum server of TST can be used",
    },
    falseHeight: {
      set(on) {
        lies = on;
      },
      says: "No Electrum server of TST can be used: server0: ",
    },
    stall: {
      set: (on) => servers.forEach(({ faults }) => void (on ? faults.add({ kind: "stall" }) : faults.clear())),
      says: ": server0: no answer to ",
    },
    lostReply: {
      set: (on) =>
        servers.forEach(
          ({ faults }) => void (on ? faults.add({ kind: "lost_reply", methods: ["blockchain.transaction.broadcast"] }) : faults.clear()),
        ),
      outcomes: ["already_known", "unknown"],
    },
    reads: {
      clear: () => void asked.splice(0),
      count: () => asked.filter((method) => method === "blockchain.transaction.get").length,
    },
    close: async () => {
      for (const server of servers) server.close();
      daemon.close();
    },
  };
  return world;
}
