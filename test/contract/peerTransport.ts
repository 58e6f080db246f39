import { expect, test } from "vitest";
import { equalBytes } from "../../src/core/util/bytes.ts";
import type { PeerConnection, PeerId, PeerTransport } from "../../src/ports/network.ts";

/** Largest frame and request, reference p2p-wire.md 3. */
const MAX_BYTES = 1024 * 1024 - 100;

/** One end under test: what it was told, and what its application does. */
export type Recorder = {
  readonly transport: PeerTransport;
  readonly peers: PeerConnection[];
  readonly gone: PeerId[];
  readonly frames: { readonly peer: PeerId; readonly frame: Uint8Array }[];
  readonly address: string;
  answer: (peer: PeerId, protocol: string, payload: Uint8Array) => Promise<Uint8Array | undefined>;
};

/** What the suite needs of an implementation. */
export type TransportWorld = {
  /** Creates an end, not started; a listening one can be dialled at `address` of the result once it is started. */
  create(listens: boolean): Promise<{ readonly transport: PeerTransport; readonly address: () => string }>;
  /** Lets time pass until the condition holds; throws when it never does. */
  until(condition: () => boolean): Promise<void>;
  /** Awaits a promise of the transport while time passes. */
  settle<T>(promise: Promise<T>): Promise<T>;
  close(): Promise<void>;
};

/** The promises of the `PeerTransport` port, for every implementation. */
export function peerTransportContract(name: string, open: () => Promise<TransportWorld>): void {
  async function withWorld(run: (world: TransportWorld) => Promise<void>): Promise<void> {
    const world = await open();
    try {
      await run(world);
    } finally {
      await world.close();
    }
  }

  async function start(world: TransportWorld, listens: boolean): Promise<Recorder> {
    const { transport, address } = await world.create(listens);
    const recorder: Recorder = {
      transport,
      peers: [],
      gone: [],
      frames: [],
      answer: async () => undefined,
      get address() {
        return address();
      },
    };
    await world.settle(
      transport.start({
        onPeer: (peer) => recorder.peers.push(peer),
        onPeerGone: (peer) => recorder.gone.push(peer),
        onFrame: (peer, frame) => recorder.frames.push({ peer, frame: frame.slice() }),
        onRequest: (peer, protocol, payload) => recorder.answer(peer, protocol, payload),
      }),
    );
    return recorder;
  }

  async function pair(world: TransportWorld): Promise<[Recorder, Recorder]> {
    const listener = await start(world, true);
    const dialler = await start(world, false);
    await world.settle(dialler.transport.dial(listener.address, new AbortController().signal));
    await world.until(() => listener.peers.length === 1 && dialler.peers.length === 1);
    return [listener, dialler];
  }

  const text = (value: string): Uint8Array => Uint8Array.from(value, (c) => c.charCodeAt(0));

  test(`${name}: both ends learn of a connection, with id, id bytes and direction`, () =>
    withWorld(async (world) => {
      const [listener, dialler] = await pair(world);
      expect(dialler.peers[0]).toMatchObject({ id: listener.transport.self.id, direction: "outbound" });
      expect(listener.peers[0]).toMatchObject({ id: dialler.transport.self.id, direction: "inbound" });
      expect(dialler.peers[0]?.idBytes).toEqual(listener.transport.self.idBytes);
      expect(dialler.peers[0]?.address).toContain("/");
    }));

  test(`${name}: frames arrive whole and in order, in both directions, up to the size limit`, () =>
    withWorld(async (world) => {
      const [listener, dialler] = await pair(world);
      const big = new Uint8Array(MAX_BYTES).fill(7);
      for (let i = 0; i < 50; i++) expect(dialler.transport.sendFrame(listener.transport.self.id, text(`frame ${i}`))).toBe(true);
      expect(dialler.transport.sendFrame(listener.transport.self.id, big)).toBe(true);
      expect(listener.transport.sendFrame(dialler.transport.self.id, text("back"))).toBe(true);
      await world.until(() => listener.frames.length === 51 && dialler.frames.length === 1);
      expect(listener.frames.slice(0, 50).map(({ frame }) => String.fromCharCode(...frame))).toEqual(
        Array.from({ length: 50 }, (_, i) => `frame ${i}`),
      );
      expect(equalBytes(listener.frames[50]?.frame ?? new Uint8Array(), big)).toBe(true);
      expect(dialler.frames[0]?.peer).toBe(listener.transport.self.id);
    }));

  test(`${name}: a request gets its answer, also many at once and large ones`, () =>
    withWorld(async (world) => {
      const [listener, dialler] = await pair(world);
      const seen: string[] = [];
      listener.answer = async (peer, protocol, payload) => {
        seen.push(`${peer === dialler.transport.self.id} ${protocol}`);
        return Uint8Array.from(payload).reverse();
      };
      const ask = (payload: Uint8Array): Promise<Uint8Array> =>
        dialler.transport.request(listener.transport.self.id, "/request-response/2", payload, new AbortController().signal);
      const answers = await world.settle(Promise.all([ask(text("abc")), ask(text("xyz")), ask(new Uint8Array(500_000).fill(3))]));
      expect(String.fromCharCode(...(answers[0] ?? []))).toBe("cba");
      expect(String.fromCharCode(...(answers[1] ?? []))).toBe("zyx");
      expect(answers[2]?.length).toBe(500_000);
      expect(seen).toEqual(Array(3).fill("true /request-response/2"));
    }));

  test(`${name}: a request without an answer rejects, and so does one that is aborted or whose peer is unknown`, () =>
    withWorld(async (world) => {
      const [listener, dialler] = await pair(world);
      const ask = (signal: AbortSignal): Promise<unknown> =>
        dialler.transport.request(listener.transport.self.id, "/request-response/2", text("?"), signal).catch((cause: unknown) => cause);
      expect(await world.settle(ask(new AbortController().signal))).toBeInstanceOf(Error);
      listener.answer = () => new Promise(() => undefined);
      const controller = new AbortController();
      const hanging = ask(controller.signal);
      controller.abort();
      expect(await world.settle(hanging)).toBeInstanceOf(Error);
      const unknown = dialler.transport.request("nobody", "/request-response/2", text("?"), new AbortController().signal);
      expect(await world.settle(unknown.catch((cause: unknown) => cause))).toBeInstanceOf(Error);
    }));

  test(`${name}: a failing handler ends the request and nothing else`, () =>
    withWorld(async (world) => {
      const [listener, dialler] = await pair(world);
      listener.answer = () => Promise.reject(new Error("handler failed"));
      const failed = dialler.transport.request(listener.transport.self.id, "/peers-exchange/2", text("?"), new AbortController().signal);
      expect(await world.settle(failed.catch((cause: unknown) => cause))).toBeInstanceOf(Error);
      dialler.transport.sendFrame(listener.transport.self.id, text("still here"));
      await world.until(() => listener.frames.length === 1);
      expect(listener.gone).toEqual([]);
    }));

  test(`${name}: both ends learn that a connection has ended, and a new one can follow`, () =>
    withWorld(async (world) => {
      const [listener, dialler] = await pair(world);
      dialler.transport.disconnect(listener.transport.self.id, "test");
      await world.until(() => listener.gone.length === 1 && dialler.gone.length === 1);
      expect(dialler.transport.sendFrame(listener.transport.self.id, text("lost"))).toBe(false);
      await world.settle(dialler.transport.dial(listener.address, new AbortController().signal));
      await world.until(() => listener.peers.length === 2 && dialler.peers.length === 2);
      dialler.transport.sendFrame(listener.transport.self.id, text("again"));
      await world.until(() => listener.frames.length === 1);
    }));

  test(`${name}: dialling a connected peer again gives its id and no second connection`, () =>
    withWorld(async (world) => {
      const [listener, dialler] = await pair(world);
      expect(await world.settle(dialler.transport.dial(listener.address, new AbortController().signal))).toBe(listener.transport.self.id);
      expect(dialler.peers).toHaveLength(1);
      expect(listener.peers).toHaveLength(1);
    }));

  test(`${name}: a pinned peer id is enforced`, () =>
    withWorld(async (world) => {
      const listener = await start(world, true);
      const other = await start(world, false);
      const dialler = await start(world, false);
      const host = listener.address.split("/p2p/")[0] ?? "";
      const dial = (pin: PeerId): Promise<unknown> =>
        dialler.transport.dial(`${host}/p2p/${pin}`, new AbortController().signal).catch((cause: unknown) => cause);
      expect(await world.settle(dial(other.transport.self.id))).toBeInstanceOf(Error);
      expect(dialler.peers).toEqual([]);
      expect(await world.settle(dial(listener.transport.self.id))).toBe(listener.transport.self.id);
    }));

  test(`${name}: dialling where nobody listens rejects`, () =>
    withWorld(async (world) => {
      const listener = await start(world, true);
      const dialler = await start(world, false);
      const { address } = listener;
      await world.settle(listener.transport.stop());
      const outcome = dialler.transport.dial(address, new AbortController().signal).catch((cause: unknown) => cause);
      expect(await world.settle(outcome)).toBeInstanceOf(Error);
    }));

  test(`${name}: stop ends all connections and pending requests; sending afterwards says so`, () =>
    withWorld(async (world) => {
      const [listener, dialler] = await pair(world);
      listener.answer = () => new Promise(() => undefined);
      const hanging = dialler.transport
        .request(listener.transport.self.id, "/request-response/2", text("?"), new AbortController().signal)
        .catch((cause: unknown) => cause);
      await world.settle(dialler.transport.stop());
      expect(await world.settle(hanging)).toBeInstanceOf(Error);
      await world.until(() => listener.gone.length === 1);
      expect(dialler.transport.sendFrame(listener.transport.self.id, text("late"))).toBe(false);
    }));

  test(`${name}: a peer that does not read makes its own queue full and nobody else's`, () =>
    withWorld(async (world) => {
      const [listener, dialler] = await pair(world);
      const other = await start(world, false);
      await world.settle(other.transport.dial(listener.address, new AbortController().signal));
      await world.until(() => listener.peers.length === 2);
      // Without giving time to anybody, the queue to one peer must fill up in the end.
      const frame = new Uint8Array(100_000);
      let sent = 0;
      while (listener.transport.sendFrame(dialler.transport.self.id, frame)) {
        sent++;
        if (sent > 10_000) throw new Error("the queue has no bound");
      }
      expect(sent).toBeGreaterThan(10);
      expect(listener.transport.sendFrame(other.transport.self.id, text("fine"))).toBe(true);
      await world.until(() => other.frames.length === 1);
    }));
}
