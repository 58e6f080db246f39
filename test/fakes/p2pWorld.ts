import { MemoryNet } from "../../src/adapters/memoryNet/memoryNet.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { Secret } from "../../src/core/util/secret.ts";
import { createP2p, type P2pConfig, type P2pNode } from "../../src/net/p2pNode.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { Log, LogFields } from "../../src/ports/log.ts";
import type { GossipMessage, GossipVerdict, PeerTransport, TransportHandlers } from "../../src/ports/network.ts";

export type LogLine = { readonly level: string; readonly event: string; readonly fields: LogFields };

/** A node of the world and what it has seen. */
export type WorldNode = P2pNode & {
  readonly address: string;
  readonly received: GossipMessage[];
  readonly logged: LogLine[];
  verdict: (message: GossipMessage) => GossipVerdict | Promise<GossipVerdict>;
};

/** A bare peer without gossip of its own: says exactly what the test tells it to. */
export type BarePeer = {
  readonly transport: PeerTransport;
  readonly frames: Uint8Array[];
  readonly gone: string[];
  answer: TransportHandlers["onRequest"];
};

export type NodeOptions = Partial<P2pConfig> & {
  readonly seeds?: readonly string[];
  readonly clock?: Clock;
  /** Where a relay listens instead of the next free `/memory/<n>`. */
  readonly listen?: string;
};

/** Many nodes over the memory net on one virtual clock. */
export function createP2pWorld(seed: number) {
  const clock = new VirtualClock();
  const rng = seededRng(seed);
  const net = new MemoryNet(clock, rng);
  let count = 0;

  async function node(options: NodeOptions = {}): Promise<WorldNode> {
    const { seeds = [], clock: ownClock = clock, listen: address = `/memory/${++count}`, ...config } = options;
    const identitySeed = rng.bytes(32);
    const logged: LogLine[] = [];
    const p2p = createP2p({
      transport: net.transport({ identitySeed, listen: config.isRelay ? [address] : [] }),
      clock: ownClock,
      rng,
      log: collectingLog(logged),
      config: {
        isRelay: false,
        seedNodes: seeds.map((entry) => ({ address: entry })),
        tcpPort: 47771,
        identitySeed: new Secret(identitySeed),
        version: "test",
        ...config,
      },
    });
    const received: GossipMessage[] = [];
    const result: WorldNode = { ...p2p, address, received, logged, verdict: () => "accept" };
    p2p.setMessageHandler((message) => {
      received.push({ ...message, data: message.data.slice() });
      return result.verdict(message);
    });
    await p2p.start();
    return result;
  }

  async function bare(listens = false): Promise<BarePeer & { readonly address: string }> {
    const address = `/memory/${++count}`;
    const transport = net.transport({ identitySeed: rng.bytes(32), listen: listens ? [address] : [] });
    const peer: BarePeer & { readonly address: string } = { transport, address, frames: [], gone: [], answer: async () => undefined };
    await transport.start({
      onPeer: () => undefined,
      onPeerGone: (id) => peer.gone.push(id),
      onFrame: (_, frame) => peer.frames.push(frame),
      onRequest: (id, protocol, payload) => peer.answer(id, protocol, payload),
    });
    return peer;
  }

  /** A promise while time passes, at most a minute. */
  async function settle<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const mark = (): void => {
      isDone = true;
    };
    promise.then(mark, mark);
    await clock.run({ until: () => isDone, untilMs: clock.nowMs() + 60_000 });
    if (!isDone) throw new Error("it did not happen within a minute");
    return promise;
  }

  async function dial(from: BarePeer, address: string): Promise<string> {
    return settle(from.transport.dial(address, new AbortController().signal));
  }

  return { clock, rng, net, node, bare, dial, settle };
}

function collectingLog(lines: LogLine[]): Log {
  const at =
    (level: string) =>
    (event: string, fields: LogFields = {}): void => {
      lines.push({ level, event, fields });
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), child: () => collectingLog(lines) };
}
