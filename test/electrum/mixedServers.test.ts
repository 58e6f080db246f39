import { afterEach, describe, expect, test } from "vitest";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { coinEntryToChainParams } from "../../src/chain/chainParams.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { err } from "../../src/core/util/result.ts";
import type { ElectrumEndpoint } from "../../src/ports/electrum.ts";
import { inProcess, type LineHooks } from "../contract/electrumChain.ts";
import { KMD_COIN } from "../contract/embeddedChain.ts";
import { SwapWorld, TICKERS, type Ticker } from "../fakes/swapWorld.ts";

let world: SwapWorld;
const servers: ElectrumServer[] = [];
afterEach(async () => {
  await world.close();
  for (const server of servers.splice(0)) server.close();
});

type Call = { readonly id: number; readonly method: string; readonly params: readonly unknown[] };
type Message = { readonly id?: number; readonly result?: unknown; readonly error?: { readonly code: number; readonly message: string } };

/** Changes each answer by the call it belongs to. */
function styled(say: (call: Call, message: Message) => object): LineHooks {
  const calls = new Map<number, Call>();
  return {
    asked: (line) => {
      const call = JSON.parse(line) as Call;
      calls.set(call.id, call);
    },
    answer: (line) => {
      const message = JSON.parse(line) as Message;
      const call = calls.get(message.id ?? -1);
      return call === undefined ? line : JSON.stringify(say(call, message));
    },
  };
}

const asFulcrum = () =>
  styled(({ id, method, params }, message) => {
    const said = { jsonrpc: "2.0", id };
    const [range] = params.slice(1);
    if (method === "server.version") return { ...said, result: ["Fulcrum 2.1.0", Array.isArray(range) ? "1.4.2" : range] };
    if (method === "blockchain.estimatefee") return { ...said, result: -1 };
    if (method === "blockchain.relayfee") return { ...said, result: 1e-5 };
    if (method === "mempool.get_fee_histogram") return { ...said, result: [] };
    if (message.error !== undefined) return { ...said, error: { code: 1, message: message.error.message } };
    return message;
  });

const asEsplora = () =>
  styled(({ id, method, params }, message) => {
    const said = { jsonrpc: "2.0", id };
    if (method === "server.version") return { ...said, result: ["electrs-esplora 0.4.1", "1.4"] };
    if (method === "blockchain.scripthash.get_mempool" || method === "blockchain.scripthash.unsubscribe")
      return { ...said, error: { code: -32601, message: `Method ${method} not found` } };
    if (method === "blockchain.transaction.get" && params[1] === true)
      return { ...said, error: "verbose transactions are currently unsupported" };
    if (method === "blockchain.estimatefee") return { ...said, result: -1.0 };
    if (message.error !== undefined) return { ...said, error: `sendrawtransaction RPC error: ${message.error.message}` };
    return message;
  });

/** A server as one program answers. `slow`: three seconds late; `lag`: three blocks behind. */
type Kind = "fulcrum" | "esplora" | "electrumx" | "slow" | "lag" | "testnet" | "dead";

function otherChain({ clock }: SwapWorld): ChainDaemon {
  const params = coinEntryToChainParams(KMD_COIN);
  if (!params.ok) throw new Error(params.error.detail);
  return new ChainDaemon(new EmbeddedChain({ params: params.value, clock, rng: seededRng(7) }), clock);
}

function endpointOf(w: SwapWorld, ticker: Ticker, kind: Kind, name: string): ElectrumEndpoint {
  if (kind === "dead") return { name, open: async () => err({ why: "nothing listens there" }) };
  const server = new ElectrumServer(kind === "testnet" ? otherChain(w) : w.daemon(ticker), w.clock);
  servers.push(server);
  if (kind === "slow") server.faults.add({ kind: "slow", delayMs: 1_500 });
  if (kind === "lag") server.faults.add({ kind: "lag", blocks: 3 });
  const hooks = kind === "fulcrum" ? asFulcrum() : kind === "esplora" ? asEsplora() : {};
  return inProcess(name, () => server, hooks);
}

const LISTS: readonly (readonly Kind[])[] = [
  ["esplora", "esplora", "esplora"],
  ["fulcrum", "fulcrum", "fulcrum"],
  ["fulcrum", "esplora", "testnet"],
  ["fulcrum", "esplora", "slow", "lag", "dead"],
  ["electrumx", "esplora", "dead"],
];

describe.each(LISTS)("over servers of other programs: %s, %s, %s", (...kinds) => {
  const begin = async (): Promise<void> => {
    world = await SwapWorld.open({ funds: 10_000_000_000n }, (w) => {
      for (const side of [w.maker, w.taker])
        for (const ticker of TICKERS)
          side.electrum.set(ticker, { servers: kinds.map((kind, i) => endpointOf(w, ticker, kind, `${kind}${i}`)), options: {} });
    });
  };
  /** Honest servers are not blamed, whatever their way to say it. */
  const blamed = (): readonly string[] =>
    [world.maker, world.taker].flatMap((side) =>
      TICKERS.flatMap((ticker) =>
        side
          .coin(ticker)
          .chain.servers()
          .flatMap(({ name, contradictions }) => (contradictions > 0 ? [name.slice(0, -1)] : [])),
      ),
    );

  test("a swap is finished and nobody honest blamed", { timeout: 60_000 }, async () => {
    await begin();
    expect(await world.finish(await world.start())).toEqual({ maker: "success", taker: "success" });
    expect(new Set(blamed())).toEqual(new Set(kinds.filter((kind) => kind === "testnet")));
  });

  test("what is paid to a maker that is gone comes back", { timeout: 60_000 }, async () => {
    await begin();
    const uuid = await world.start();
    await world.until("the maker has paid", async () => (await world.taker.state(uuid)).facts.makerPayment !== undefined);
    await world.maker.stop();
    await world.until("it has its payment back", async () => (await world.outcome(world.taker, uuid)) !== null, 20_000);
    expect(await world.outcome(world.taker, uuid)).toBe("refunded");
  });
});
