import { connect } from "node:net";
import { expect, test } from "vitest";
import { createChainWorld } from "../../../test/fakes/chainWorld.ts";
import { electrumClient } from "../../../test/fakes/electrumClient.ts";
import { ChainDaemon } from "../daemon.ts";
import { ElectrumListener } from "./electrumListener.ts";
import { ElectrumServer } from "./electrumServer.ts";

test("over TCP calls are answered and blocks are told, and closing ends the connections", async () => {
  const { chain, clock } = createChainWorld("legacy");
  const server = new ElectrumServer(new ChainDaemon(chain, clock), clock);
  const listener = new ElectrumListener(server, { port: 0 });
  const port = await listener.listen();
  const socket = connect(port, "127.0.0.1");
  let heard = (): void => {};
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  const client = electrumClient((peer) => {
    socket.on("data", (bytes) => {
      peer.data(bytes);
      heard();
    });
    return (bytes) => void socket.write(bytes);
  });
  try {
    expect(await client.call("server.version", "test", "1.4")).toEqual(["swapnode chain 1.0", "1.4"]);
    expect((await client.call("blockchain.headers.subscribe")).height).toBe(chain.state.tip.height);
    const told = new Promise<void>((resolve) => {
      heard = resolve;
    });
    chain.mine(1);
    await told;
    expect(client.told[0].params[0].height).toBe(chain.state.tip.height);
  } finally {
    await listener.close();
  }
  await ended;
  expect(server.connections).toBe(0);
});
