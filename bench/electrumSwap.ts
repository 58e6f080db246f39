import { type DevNode, startDevnet, until } from "../src/devnet/devnet.ts";
import { DEFAULT_TOPOLOGY } from "../src/devnet/topology.ts";
import { type Figure, median, type Question } from "./support/question.ts";

const RUNS = 3;
const SWAP_DEADLINE_MS = 60_000;
/** Blocks watched without a swap: what each costs is taken off the swap's calls. */
const IDLE_BLOCKS = 30;
const COINS = ["DOC", "MARTY"];

/** Of both coins: calls at all servers since the start, and the sum of the heights. */
type Count = { readonly calls: number; readonly blocks: number };

async function countOf(node: DevNode): Promise<Count> {
  let [calls, blocks] = [0, 0];
  for (const coin of COINS) {
    const { result } = await node.rpc.call("electrum_servers", { mmrpc: "2.0", id: 1, params: { coin } });
    const { servers } = result as { servers: readonly { calls: number; height: number | null }[] };
    calls += servers.reduce((sum, server) => sum + server.calls, 0);
    blocks += Math.max(...servers.map(({ height }) => height ?? 0));
  }
  return { calls, blocks };
}

const since = (before: Count, after: Count): Count => ({ calls: after.calls - before.calls, blocks: after.blocks - before.blocks });

async function finish(node: DevNode, uuid: string): Promise<void> {
  await until(
    `${node.name}'s swap`,
    async () => {
      const { result } = await node.rpc.call("my_swap_status", { params: { uuid } });
      const { is_finished, is_success } = result as { is_finished: boolean; is_success?: boolean };
      if (is_finished && is_success !== true) throw new Error(`swap ${uuid} did not succeed`);
      return is_finished ? true : null;
    },
    SWAP_DEADLINE_MS,
  );
}

/** From the order to the end on both sides. */
async function trade(maker: DevNode, taker: DevNode): Promise<readonly [maker: Count, taker: Count]> {
  const before = await Promise.all([countOf(maker), countOf(taker)]);
  await maker.rpc.call("setprice", { base: "DOC", rel: "MARTY", price: "0.5", volume: "1" });
  await until("the order", async () =>
    Number((await taker.rpc.call("orderbook", { base: "DOC", rel: "MARTY" })).numasks) > 0 ? true : null,
  );
  const { uuid } = (await taker.rpc.call("buy", { base: "DOC", rel: "MARTY", price: "0.5", volume: "1" })).result as { uuid: string };
  await Promise.all([finish(maker, uuid), finish(taker, uuid)]);
  const after = await Promise.all([countOf(maker), countOf(taker)]);
  return [since(before[0], after[0]), since(before[1], after[1])];
}

/** Calls a block costs while nothing else happens. */
async function perBlock(node: DevNode): Promise<number> {
  const before = await countOf(node);
  const passed = await until(
    "blocks without a swap",
    async () => {
      const now = since(before, await countOf(node));
      return now.blocks >= IDLE_BLOCKS ? now : null;
    },
    SWAP_DEADLINE_MS,
  );
  return passed.calls / passed.blocks;
}

/** What a swap asks of Electrum servers: they count and slow down who asks for much. */
export const question: Question = {
  name: "electrumSwap",
  title: "Calls of one swap at Electrum servers: three for each coin on this machine, blocks every second, one confirmation",
  async ask(say) {
    const net = await startDevnet({ topology: { ...DEFAULT_TOPOLOGY, backend: "electrum" }, keepDataDir: null, say });
    try {
      const [maker, taker] = [net.nodes.get("alice"), net.nodes.get("bob")];
      if (!maker || !taker) throw new Error("the network lacks its maker or taker");
      const idle = await Promise.all([perBlock(maker), perBlock(taker)]);
      const swaps: (readonly [maker: Count, taker: Count])[] = [];
      for (let run = 0; run < RUNS; run++) {
        const swap = await trade(maker, taker);
        say(`${swap[0].calls} calls of the maker, ${swap[1].calls} of the taker, in ${swap[0].blocks} blocks of both chains`);
        swaps.push(swap);
      }
      return ["maker", "taker"].flatMap((who, side): readonly Figure[] => {
        const counts = swaps.map((swap) => swap[side] ?? { calls: 0, blocks: 0 });
        const ofBlock = idle[side] ?? 0;
        return [
          {
            what: `calls of the ${who}, order to end`,
            value: median(counts.map(({ calls }) => calls)),
            unit: "",
            note: `median of ${RUNS}`,
          },
          {
            what: `the same beyond those each block costs the ${who} anyway`,
            value: median(counts.map(({ calls, blocks }) => calls - ofBlock * blocks)),
            unit: "",
            note: `${ofBlock.toFixed(1)} calls a block, over all servers`,
          },
        ];
      });
    } finally {
      await net.stop();
    }
  },
};
