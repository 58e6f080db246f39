import { expect, test } from "vitest";
import { ElectrumServer } from "../../src/chain/electrum/electrumServer.ts";
import { inProcess } from "../contract/electrumChain.ts";
import { SwapWorld, TICKERS } from "../fakes/swapWorld.ts";

const SERVERS = 3;
const SUBSCRIBE = "blockchain.scripthash.subscribe";

test("a swap that is over and still watched costs its servers nothing at each view that later swaps wait for", async () => {
  const asked: string[] = [];
  const hooks = { asked: (line: string) => void asked.push((JSON.parse(line) as { method: string }).method) };
  const servers: ElectrumServer[] = [];
  const world = await SwapWorld.open({ funds: 10_000_000_000n }, (w) => {
    for (const side of [w.maker, w.taker]) {
      for (const ticker of TICKERS) {
        const own = Array.from({ length: SERVERS }, () => new ElectrumServer(w.daemon(ticker), w.clock));
        side.electrum.set(ticker, { servers: own.map((server, i) => inProcess(`server${i}`, () => server, hooks)), options: {} });
        servers.push(...own);
      }
    }
  });
  const calls: number[] = [];
  for (let n = 0; n < 5; n++) {
    asked.splice(0);
    expect(await world.finish(await world.start())).toEqual({ maker: "success", taker: "success" });
    calls.push(asked.filter((method) => method === SUBSCRIBE).length);
  }
  // Both contracts of each swap are followed until ten blocks have passed.
  expect(await world.taker.watches("AAA")).toBeGreaterThan(8);
  const [first = 0] = calls;
  expect(calls).toEqual(calls.map(() => first));
  await world.close();
  for (const server of servers) server.close();
});
